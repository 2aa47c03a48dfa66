"""Choosing and checking the guardrail; its key is never shown or saved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from guardtui.app.guardrails.check_result import CheckResult
from guardtui.app.guardrails.choice import GuardrailRequest
from guardtui.app.guardrails.choosing import Guardrails
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.sandbox.judging import TopicMatcher
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.guardrail.dialog import GuardrailDialog
from guardtui.tui.inputs.fields import ToggleButton
from guardtui.tui.main.screen import MainScreen
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
    topic_path: Path, remote: RemoteOptions | None = None, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Pilot[int], GuardtuiApp, MainScreen]]:
    remote = remote or RemoteOptions(environment={}, config=NO_FILE)
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"), remote=remote)
    async with app.run_test(size=size) as pilot:
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


def result(shown: GuardrailDialog) -> str:
    return " ".join(str(shown.query_one("#problem").render()).split())


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


async def test_on_a_small_screen_the_reason_for_the_question_is_in_view(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    async with playing(topic_path, size=(80, 24)) as (pilot, app, _):
        await dialog(pilot, app, "ctrl+r")
        assert "AIRS needs an API key" in frame(app)


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
