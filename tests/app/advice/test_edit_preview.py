"""The preview of an edit, and that taking it shows what it promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.app.advice.edit_preview import RATES, EditPreview
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from tests.app.bench import written
from tests.app.headless import Loop


async def previewed(app: Loop, after: Topic) -> EditPreview:
    return await app.services.previews.measure(after)


async def taken(app: Loop, preview: EditPreview) -> None:
    await app.services.previews.take(preview)
    await app.jobs.finished()


def shown(app: Loop) -> dict[str, float | None]:
    evaluation = app.services.state.evaluation
    assert evaluation is not None
    return {name: getattr(evaluation.metrics, name) for name in RATES}


@pytest.mark.parametrize("each", [3, 4])  # too few labels to fit a threshold, and enough
async def test_a_taken_edit_has_the_figures_of_its_preview_and_its_prompts_leave_the_set(
    tmp_path: Path, each: int
) -> None:
    async with Loop(written(tmp_path, each=each)) as app:
        topic, prompts = app.services.state.topic, app.services.state.prompts
        text = prompts.prompts[0]
        after = topic.model_copy(update={"description": "Soup", "examples": ("Bread?", text)})
        preview = await previewed(app, after)
        assert app.services.state.topic == topic
        assert app.services.state.prompts is prompts
        assert preview.taken_out == {int(prompts.keys[0])}
        assert len(preview.prompts) == len(prompts) - 1
        await taken(app, preview)
        state = app.services.state
        assert state.topic == after
        assert state.evaluation is not None
        assert state.evaluation.topic == after
        assert shown(app) == dict(preview.rates[1])
        assert state.comparison is not None
        promised = preview.comparison
        assert (state.comparison.fixes, state.comparison.regressions) == (
            promised.fixes,
            promised.regressions,
        )
        assert state.evaluation.settings == preview.after.settings
        assert text not in state.prompts.prompts
        assert len((tmp_path / "tax.csv").read_text("utf-8").splitlines()) == len(prompts)
        assert "1 prompt left the prompt file" in app.author.messages[-1]
        assert app.author.questions == []


async def test_an_edit_and_its_prompts_are_published_at_once(tmp_path: Path) -> None:
    async with Loop(written(tmp_path)) as app:
        topic, prompts = app.services.state.topic, app.services.state.prompts
        text = prompts.prompts[0]
        after = topic.model_copy(update={"examples": (topic.examples[0], text)})
        preview = await previewed(app, after)
        seen: list[tuple[bool, int]] = []
        app.services.store.subscribe(
            lambda old, new: seen.append((new.topic == after, len(new.prompts))), "topic", "prompts"
        )
        await taken(app, preview)
        assert set(seen) == {(True, len(prompts) - 1)}


async def test_an_edit_goes_into_the_editor_and_undo_takes_it_back(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        before = app.services.state.topic
        after = before.model_copy(update={"description": "Taxes of persons"})
        preview = await previewed(app, after)
        assert preview.taken_out == frozenset()
        await taken(app, preview)
        assert app.services.state.topic == after
        assert app.author.messages == ["The edit is in the editor; Undo takes it back."]
        app.services.editing.undo()
        assert app.services.state.topic == before


async def test_a_definition_that_had_changed_meanwhile_is_told(tmp_path: Path) -> None:
    async with Loop(written(tmp_path), threshold="built-in") as app:
        here = app.services.state.topic
        preview = await previewed(app, here.model_copy(update={"description": "Taxes"}))
        await app.describe("From another program")
        await taken(app, preview)
        assert "The definition had changed meanwhile." in app.author.messages[-1]
        assert app.services.state.topic.description == "Taxes"


async def test_an_edit_whose_prompts_cannot_leave_their_file_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Loop(written(tmp_path)) as app:
        topic, prompts = app.services.state.topic, app.services.state.prompts
        after = topic.model_copy(update={"examples": (topic.examples[0], prompts.prompts[0])})
        preview = await previewed(app, after)

        def refuse(edit: object) -> str:
            raise FileError("tax.csv", "no space left")

        monkeypatch.setattr(app.services.workspace, "edit_prompts", refuse)
        await taken(app, preview)
        assert app.services.state.topic == topic
        assert app.services.state.prompts is prompts
        assert "no space left" in app.author.messages[-1]


async def test_prompts_of_a_set_that_cannot_be_edited_stay_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Loop(written(tmp_path)) as app:
        topic, prompts = app.services.state.topic, app.services.state.prompts
        after = topic.model_copy(update={"examples": (topic.examples[0], prompts.prompts[0])})
        kind = type(app.services.workspace)
        monkeypatch.setattr(kind, "prompts_refusal", property(lambda self: "It is a sample."))
        preview = await previewed(app, after)
        assert preview.taken_out == frozenset()
        assert len(preview.prompts) == len(prompts)
        assert preview.note.endswith("It is a sample.")


async def test_the_last_prompt_of_a_label_stays_in_the_set_and_its_edit_can_be_taken(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    (tmp_path / "tax.csv").write_text("prompt,expected\na levy,true\nsoup,false\nbread,false\n")
    async with Loop(path, threshold="built-in") as app:
        topic = app.services.state.topic
        after = topic.model_copy(update={"examples": (topic.examples[0], "a levy")})
        preview = await previewed(app, after)
        assert preview.taken_out == frozenset()
        assert preview.note.endswith("Without it the set would have prompts of one label only.")
        await taken(app, preview)
        assert app.services.state.topic == after
        assert shown(app) == dict(preview.rates[1])
        assert len(app.services.state.prompts) == 3
