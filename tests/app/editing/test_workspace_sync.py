"""Prompts that an edit makes examples: they leave the measured set, and come back with undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from guardtui.app.editing.workspace_sync import ends_the_fit, taken_prompts
from tests.app.bench import Bench, written
from tests.app.headless import Loop


def test_only_new_examples_are_prompts_that_were_taken(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    texts, keys = bench.prompts.prompts.to_list(), bench.prompts.keys
    before = bench.topic.model_copy(update={"examples": (texts[0], "else")})
    after = bench.topic.model_copy(update={"examples": (texts[0], texts[3].upper(), "new")})
    assert taken_prompts(before, after, bench.prompts) == {int(keys[3])}
    assert taken_prompts(after, before, bench.prompts) == frozenset()


def test_taking_out_prompts_can_end_the_fit_of_the_threshold(tmp_path: Path) -> None:
    prompts = Bench(tmp_path).prompts  # ten of each label
    one = frozenset({int(prompts.keys[0])})
    assert ends_the_fit(prompts, one)
    assert not ends_the_fit(prompts, frozenset())
    few = Bench(tmp_path, each=1).prompts
    assert not ends_the_fit(few, frozenset({int(few.keys[0])}))  # none is fitted anyway


class Author(Loop):
    """Makes the first and the last prompt examples, which leaves the file, and steps back."""

    async def makes_examples(self) -> None:
        before, texts = self.state.topic, self.state.prompts.prompts
        after = before.model_copy(update={"examples": (texts[0], texts[-1])})
        self.services.editing.replace(after)
        await self.services.sync.offer_to_take_out(before, after)
        await self.settle()

    async def undoes(self) -> None:
        await self._steps(self.services.editing.undo)

    async def redoes(self) -> None:
        await self._steps(self.services.editing.redo)

    async def _steps(self, step: Callable[[], object]) -> None:
        before = self.state.topic
        step()
        await self.services.sync.follow(before)
        await self.settle()


async def test_undo_puts_the_prompts_of_an_edit_back_and_redo_takes_them_out(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    before = path.with_suffix(".csv").read_bytes()
    async with Author(path, True) as author:
        await author.makes_examples()
        without = path.with_suffix(".csv").read_bytes()
        assert len(without.splitlines()) == len(before.splitlines()) - 2
        for _ in range(2):
            await author.undoes()
            assert path.with_suffix(".csv").read_bytes() == before
            assert len(author.state.prompts) == len(before.splitlines()) - 1
            assert author.author.messages[-1] == "2 prompts put back into tax.csv"
            await author.redoes()
            assert path.with_suffix(".csv").read_bytes() == without
            assert author.author.messages[-1] == "2 prompts removed from tax.csv"


async def test_discard_puts_the_prompts_of_an_edit_back(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.with_suffix(".csv").read_bytes()
    async with Author(path, True, True) as author:
        await author.makes_examples()
        await author.services.decisions.discard()
        assert path.with_suffix(".csv").read_bytes() == before


async def test_prompts_come_back_after_the_draft_was_opened_again(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = path.with_suffix(".csv").read_bytes()
    async with Author(path, True) as author:
        await author.makes_examples()
        author.services.workspace.save_draft(always=True)
    async with Author(path) as author:
        await author.undoes()
        assert path.with_suffix(".csv").read_bytes() == before


async def test_prompts_that_stayed_or_were_put_back_by_hand_are_left_alone(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    before = path.with_suffix(".csv").read_bytes()
    async with Author(path, False, True) as author:
        await author.makes_examples()  # and they stay in the file
        await author.undoes()
        await author.redoes()
        assert path.with_suffix(".csv").read_bytes() == before
        await author.undoes()
        await author.makes_examples()
        assert path.with_suffix(".csv").read_bytes() != before
        await author.services.sync.edit_prompts(None)
        await author.undoes()
        await author.redoes()
        assert path.with_suffix(".csv").read_bytes() == before


async def test_undo_says_what_another_program_prevents_and_tries_again(tmp_path: Path) -> None:
    path = written(tmp_path)
    file = path.with_suffix(".csv")
    async with Author(path, True) as author:
        await author.makes_examples()
        with file.open("a", encoding="utf-8") as opened:
            opened.write("tax on dogs,true,block\n")
        theirs = file.read_bytes()
        await author.undoes()
        assert file.read_bytes() == theirs
        assert author.author.messages[-1].startswith("2 prompts not put back into tax.csv: ")
        assert "changed by another program" in author.author.messages[-1]
        for _ in range(2):
            await author.services.sync.look()
        await author.redoes()
        await author.undoes()
        rows = file.read_text("utf-8").splitlines()
        assert rows[1].startswith("tell me more of my income tax in 0 words,")
        assert rows[-2:] == [
            "tell me more of the Eiffel Tower in 2 words,false,block",
            "tax on dogs,true,block",
        ]
