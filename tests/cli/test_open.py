"""`guardtui open`: its options are checked before the app takes the terminal."""

from __future__ import annotations

import pytest

from guardtui.cli.open import WEB_DRIVER

from .conftest import Run


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--writer", "https://a.example/v1"), "--writer: 'https://a.example/v1' has no model"),
        (("--writer", "http://a.example/v1#m"), "--writer: http://a.example would send"),
        (
            ("--writer", "https://a.example#m", "--set", "budget=1"),
            "budget: unknown key of engine (a key of judge, decision)",
        ),
        (("--writer", "https://a.example#m", "--set", "price-in=1"), "price-in: unknown key"),
        (("--set", "allow-http=true"), "allow-http: unknown key"),
        (
            ("--writer", "https://a.example#m", "--guardrail", "judge:https://b.example#m"),
            "GUARDTUI_MODEL_KEYS=",
        ),
    ],
)
def test_a_writer_is_checked_with_its_key(
    run: Run, arguments: tuple[str, ...], problem: str
) -> None:
    variables = {"TEXTUAL_DRIVER": WEB_DRIVER, "GUARDTUI_MODEL_KEY": "sk-one"}
    done = run("open", "topic.yaml", *arguments, **variables)
    assert done.code == 2
    assert problem in done.err
