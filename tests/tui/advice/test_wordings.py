"""Trials of wordings on the screen: a writer, its wordings, and the origin of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from textual.screen import Screen
from textual.widgets import Input

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.session.workspace import Workspace
from guardtui.tui.advice.ideas import IdeasPage
from guardtui.tui.advice.running import RunningDialog
from guardtui.tui.advice.wording_dialogs import WordingsDialog
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import AnswersDialog
from tests.app.advice.test_wording_trials import topic_path
from tests.app.cloud import NO_FILE
from tests.http.server import Server, silence
from tests.http.test_system_keyring import use
from tests.scanners.models.decision_service import serving
from tests.scanners.models.judges import said
from tests.tui.settling import settle
from tests.tui.tax_app import frame, ready, until

__all__ = ["topic_path"]

KEY = "sk-never-to-be-seen"
GOOD = {"description": "Advice on income taxes and returns", "examples": ["tax", "a return"]}
HOSTILE = {"description": "Taxes \x1b]0;owned\x07", "examples": ["tax", "a return"]}
MARKED = {"description": "Taxes", "examples": ["[@click=app.quit]tax[/]", "a return"]}


@pytest.mark.exhaustive
async def test_a_writer_is_chosen_asked_and_shown_inert(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, None)
    text = json.dumps({"proposals": [GOOD, HOSTILE, MARKED]})
    async with serving() as service, Server([silence, said(text)]) as server:
        decision = DecisionOptions(service.address)
        remote = RemoteOptions(environment={}, config=NO_FILE, model=decision)
        app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"), remote=remote)
        async with app.run_test(size=(120, 40)) as pilot:
            main = await ready(pilot, app)

            async def comes(kind: type[Screen[Any]]) -> None:
                await until(pilot, lambda: isinstance(app.screen, kind) and app.screen.is_mounted)
                await settle()

            async def consent(*keys: str) -> None:
                main.perform("ideas")
                await comes(IdeasPage)
                await pilot.press("w")
                await comes(WordingsDialog)
                if keys:
                    shown = app.screen.query_one("#writer", Input)
                    shown.value = f"{server.url}/v1#[b]gpt[/b]"
                    app.screen.query_one("#writer-key", Input).value = KEY
                await pilot.press("ctrl+s")
                await comes(AnswersDialog)
                assert "Ask [b]gpt[/b] at http://127.0.0.1:" in frame(app)

            await consent("typed")
            assert server.received == []
            # Escape continues without it.
            await pilot.press("a")
            await until(pilot, lambda: bool(server.received))
            await comes(RunningDialog)
            await pilot.press("escape")
            await comes(IdeasPage)
            assert any("cancelled" in message.line for message in app.said.messages)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main)
            # The writer and its key are known then.
            await consent()
            await pilot.press("a")
            await until(pilot, lambda: len(server.received) > 1)
            await comes(IdeasPage)
            seen = " ".join(frame(app).replace("│", " ").split())
            assert "proposal 2: the description has control" in seen
            assert "\x1b" not in seen
            assert server.received[-1].headers["authorization"] == f"Bearer {KEY}"
            assert service.stats["requests"] == 0
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main)
            assert KEY not in "".join(message.line for message in app.said.messages)
            assert KEY in app.secrets().values()
    kept = [path for path in topic_path.parent.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in kept)
