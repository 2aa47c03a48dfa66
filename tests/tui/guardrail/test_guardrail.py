"""Choosing and checking the guardrail; its key is never shown or saved."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label, OptionList

from guardtui.app.guardrails.check_result import CheckResult
from guardtui.app.guardrails.choice import GuardrailRequest
from guardtui.app.guardrails.choosing import Guardrails
from guardtui.app.guardrails.named import FILE
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.sandbox.judging import TopicMatcher
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.guardrail.dialog import GuardrailDialog
from guardtui.tui.kit.toggle_button import ToggleButton
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.messages import SwitchTopic
from guardtui.tui.scan.dialogs import ScanDialog
from tests.app.cloud import NO_FILE, Cloud
from tests.http.server import Received, Server, Step, answer
from tests.http.test_system_keyring import Backend, use
from tests.scanners.models.judges import said
from tests.tui.settling import settle
from tests.tui.tax_app import ROWS, frame, ready, topic_path, until

__all__ = ["topic_path"]

KEY = "sk-never-to-be-seen"


@pytest.fixture
async def cloud(tmp_path: Path) -> AsyncIterator[Cloud]:
    started = Cloud(TopicMatcher(), tmp_path)
    await started.start()
    yield started
    await started.stop()


def judge_with_key(request: Received) -> Step:
    """A judge that says yes to whoever has the key."""
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return answer({"error": {"message": "who are you"}}, status=401)
    return said("So it is.\nANSWER: yes")


@asynccontextmanager
async def playing(
    topic_path: Path, remote: RemoteOptions | None = None
) -> AsyncIterator[tuple[Pilot[int], GuardtuiApp, MainScreen]]:
    remote = remote or RemoteOptions(environment={}, config=NO_FILE)
    app = GuardtuiApp(Workspace.open(topic_path), LocalScanner("static"), remote=remote)
    async with app.run_test(size=(120, 40)) as pilot:
        yield pilot, app, await ready(pilot, app)


async def dialog(pilot: Pilot[int], app: GuardtuiApp, *keys: str) -> GuardrailDialog:
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(app.screen, GuardrailDialog) and app.screen.is_mounted)
    await settle()
    assert isinstance(app.screen, GuardrailDialog)
    return app.screen


async def fill(shown: GuardrailDialog, **values: str) -> None:
    for name, value in values.items():
        shown.query_one(f"#{name}", Input).value = value
    await settle()


async def another(pilot: Pilot[int], shown: GuardrailDialog, kind: str) -> None:
    """Begin a guardrail of a kind in the form."""
    await pilot.press("end", "enter")
    turn = shown.query_one("#kind", ToggleButton)
    turn.focus()
    while f"‹ {kind}" not in str(turn.label):
        await pilot.press("space")
        await settle()


def placeholder(shown: GuardrailDialog) -> str:
    return shown.query_one("#key", Input).placeholder


UNENCRYPTED = (
    "http://elsewhere.example would send key and prompts unencrypted: "
    "write https://, or allow http (allow-http)"
)


def result(shown: GuardrailDialog) -> str:
    return " ".join(str(shown.query_one("#guardrail-result").render()).split())


def left_behind(folder: Path) -> list[Path]:
    """Files that hold the key."""
    return [
        path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]


async def test_a_scan_without_a_guardrail_asks_for_one_and_continues(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch, own_folders: Path
) -> None:
    backend = Backend()
    use(monkeypatch, backend)
    async with Server(judge_with_key) as server, playing(topic_path) as (pilot, app, main):
        shown = await dialog(pilot, app, "ctrl+r")
        assert "AIRS needs an API key" in frame(app)
        field = shown.query_one("#key", Input)
        await another(pilot, shown, "judge")
        await fill(shown, model=f"{server.url}/v1#mock", key="wrong")
        await pilot.press("ctrl+k")
        await until(pilot, lambda: "HTTP 401: who are you" in result(shown))
        await fill(shown, key=KEY)
        assert KEY not in frame(app)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: "plain prompts rightly" in result(shown))
        assert main.services.connections.model is None  # only looked at
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, ScanDialog))
        assert field.value == ""
        assert "scans ask Judge mock" in frame(app)
        await pilot.press("g")
        await until(pilot, lambda: main.state.evaluation is not None)
        await until(pilot, lambda: main.state.evaluation.settings.kind == "judge")  # type: ignore[union-attr]
        await until(pilot, lambda: not main.services.scans.under_way)
        assert KEY in app.secrets().values()
        assert KEY not in frame(app) + "".join(message.line for message in app.said.messages)
        assert backend.kept == {}
        # The engine alone: what the judge said is no longer what is shown.
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        await until(pilot, lambda: "typed in here" in frame(app))
        await pilot.press("home", "enter")
        await until(pilot, lambda: main.state.evaluation.settings.kind == "engine")  # type: ignore[union-attr]
        assert main.state.connection is None
        assert len(main.services.session.iterations[-1].evaluation.keys) == len(ROWS)
    assert left_behind(topic_path.parent) == left_behind(own_folders) == []


@pytest.mark.exhaustive
async def test_a_key_is_kept_in_the_keyring_where_the_author_ticks_it(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Backend()
    use(monkeypatch, backend)
    async with Server(judge_with_key) as server:
        model = f"{server.url}/v1#mock"
        async with playing(topic_path) as (pilot, app, _):
            shown = await dialog(pilot, app, "ctrl+@", "s", "g")
            await another(pilot, shown, "judge")
            await fill(shown, model=model, key=KEY)
            shown.query_one("#keep").focus()
            await pilot.press("enter", "ctrl+s")
            await until(pilot, lambda: not isinstance(app.screen, GuardrailDialog))
            assert list(backend.kept.values()) == [KEY]
        # The next time the judge is offered, with its key, and not used before the author agrees.
        async with playing(topic_path) as (pilot, app, main):
            assert main.services.connections.model is None
            shown = await dialog(pilot, app, "ctrl+r")
            assert "was scanned by a model before" in frame(app)
            assert shown.query_one("#model", Input).value == model
            await until(pilot, lambda: "keyring of the system" in placeholder(shown))
            await pilot.press("ctrl+s")
            await until(pilot, lambda: isinstance(app.screen, ScanDialog))
            assert main.services.connections.model is not None
    assert left_behind(topic_path.parent) == []


@pytest.mark.exhaustive
async def test_without_a_keyring_the_tick_is_not_offered(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    async with playing(topic_path) as (pilot, app, _):
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        assert not shown.query("#keep")
        assert "In memory until you quit; " in frame(app)


@pytest.mark.exhaustive
async def test_an_unusable_choice_is_reported_and_nothing_changes(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    async with playing(topic_path) as (pilot, app, main):
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        await fill(shown, rate="fast", profile="p", key="k")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "! rate: 'fast' is not valid" in result(shown))
        await another(pilot, shown, "judge")
        await fill(shown, model="http://elsewhere.example/v1#m")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: UNENCRYPTED in result(shown))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.services.connections.kind is None
        assert main.services.workspace.store.setting("guardrail") is None


async def test_a_message_about_one_kind_of_guardrail_goes_when_another_is_chosen(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    async with playing(topic_path) as (pilot, app, _):
        shown = await dialog(pilot, app, "ctrl+r")
        assert "AIRS needs an API key" in frame(app)
        await another(pilot, shown, "judge")
        await until(pilot, lambda: "‹ judge" in frame(app))
        assert "AIRS needs an API key" not in frame(app)


async def test_while_a_guardrail_is_checked_nothing_old_is_told(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def check(guardrails: Guardrails, request: GuardrailRequest) -> CheckResult:
        begun.set()
        await goes_on.wait()
        raise RuntimeError("new problem")

    async with playing(topic_path) as (pilot, app, _):
        shown = await dialog(pilot, app, "ctrl+r")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: result(shown).startswith("!"))
        monkeypatch.setattr(Guardrails, "check", check)
        await pilot.press("ctrl+k")
        await until(pilot, begun.is_set)
        assert result(shown) == "checking …"
        assert "AIRS needs an API key" not in frame(app)
        goes_on.set()
        await until(pilot, lambda: "new problem" in result(shown))


@pytest.mark.exhaustive
async def test_the_key_is_never_copied(topic_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None)
    async with playing(topic_path) as (pilot, app, _):
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        await fill(shown, key=KEY)
        field = shown.query_one("#key", Input)
        field.focus()
        field.select_all()
        await pilot.press("ctrl+c", "ctrl+x")
        await settle()
        assert KEY not in app.clipboard
        assert field.value == ""


async def test_flags_override_saved_settings(topic_path: Path) -> None:
    workspace = Workspace.open(topic_path)
    workspace.store.update_settings({"guardrail": {"kind": "engine"}})
    async with playing(topic_path) as (_, _, main):
        assert "embedded engine only" in main.services.connections.refusal
    named = RemoteOptions(
        {"profile": "p"}, environment={"PANW_AI_SEC_API_KEY": "k"}, config=NO_FILE
    )
    async with playing(topic_path, named) as (_, _, main):
        assert main.services.connections.refusal == ""


@pytest.mark.exhaustive
async def test_airs_is_chosen_checked_and_scanned(
    cloud: Cloud, topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key typed for one address is used again for it, also in another topic."""
    use(monkeypatch, None)
    variables = {**cloud.environment, "PANW_AI_SEC_API_KEY": "", "PANW_AI_SEC_API_ENDPOINT": ""}
    start = RemoteOptions(environment=variables, config=NO_FILE)
    values = {
        "scan-endpoint": cloud.environment["PANW_AI_SEC_API_ENDPOINT"],
        "profile": "sandbox",
        "key": cloud.scans["PANW_AI_SEC_API_KEY"],
    }
    async with playing(topic_path, start) as (pilot, app, main):
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        await fill(shown, **values)
        await pilot.press("ctrl+k")
        await until(pilot, lambda: "key accepted" in result(shown))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: main.state.connection is not None)
        await until(pilot, lambda: app.screen is main and "scans ask AIRS sandbox" in frame(app))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, ScanDialog))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        path = topic_path.with_name("other.yaml")
        for ending in (".yaml", ".csv"):
            shutil.copyfile(topic_path.with_suffix(ending), path.with_suffix(ending))
        app.post_message(SwitchTopic(Workspace.open(path)))
        await until(pilot, lambda: bool(app.screen_stack) and app.workspace.topic_file.path == path)
        await until(pilot, lambda: not main.is_attached)
        new = app.screen_stack[0]
        assert isinstance(new, MainScreen)
        await until(pilot, lambda: new.state.evaluation is not None)
        assert new.services.connections.connection is None
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        endpoint = {"scan-endpoint": values["scan-endpoint"]}
        await fill(shown, profile="sandbox", **endpoint)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: new.state.connection is not None)


async def test_a_guardrail_is_made_with_a_name_edited_and_found_by_other_topics(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch, own_folders: Path
) -> None:
    use(monkeypatch, None)
    monkeypatch.setenv("GUARDTUI_CONFIG", str(topic_path.with_name("settings.yaml")))
    settings = topic_path.with_name("settings.yaml")
    settings.write_text("# mine\ntheme: guardtui-light\n", "utf-8")
    remote = RemoteOptions(environment={"PANW_AI_SEC_API_KEY": "k"}, config=NO_FILE)
    async with playing(topic_path, remote) as (pilot, app, main):
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        names = [
            str(option.prompt) for option in shown.query_one("#guardrails", OptionList).options
        ]
        assert names == ["engine", "airs", "another guardrail …"]
        await pilot.press("end", "enter")
        await fill(shown, name="prod", profile="p", retries="3")
        shown.query_one("#region").focus()
        await pilot.press("space", "space")
        assert "‹ de ›" in frame(app)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is main)
        expected = (
            "# mine\ntheme: guardtui-light\nguardrails:\n  prod:\n    kind: airs\n"
            "    profile: p\n    region: de\n    retries: 3\n"
        )
        assert settings.read_text("utf-8") == expected
        assert main.services.workspace.store.setting("guardrail") == {"name": "prod"}
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        assert "prod" in frame(app)
        assert "settings.yaml:4" in frame(app)
        assert shown.query_one("#retries", Input).value == "3"
        await fill(shown, retries="", profile="q")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is main)
        assert settings.read_text("utf-8") == expected.replace(": p\n", ": q\n").replace(
            "    retries: 3\n", ""
        )


async def test_a_guardrail_beside_the_topic_is_listed_and_edited_there(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    team = topic_path.with_name(FILE)
    team.write_text("# team\nlocal:\n  kind: judge # ours\n  model: http://localhost:1/v1#m\n")
    async with playing(topic_path) as (pilot, app, main):
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        await pilot.press("end", "up")
        await settle()
        assert shown.query_one("#model", Input).value == "http://localhost:1/v1#m"
        await fill(shown, **{"model-option": 'seed=7 effort="low"'})
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is main)
        assert main.services.connections.options.judge is not None
    assert team.read_text("utf-8") == (
        "# team\nlocal:\n  kind: judge # ours\n  model: http://localhost:1/v1#m\n"
        "  model-option:\n    seed: 7\n    effort: low\n"
    )


async def test_an_error_in_a_file_is_said_and_the_other_guardrails_are_offered(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    topic_path.with_name(FILE).write_text("prod: {kind: airs, retrys: 3}\n", "utf-8")
    async with playing(topic_path) as (pilot, app, _):
        shown = await dialog(pilot, app, "ctrl+@", "s", "g")
        told = str(shown.query_one(".why", Label).render())
        assert "guardrails.yaml:1: prod: retrys: unknown key of airs" in told
        assert "did you mean 'retries'" in told
