"""What calls to models will use: from their texts, or from what earlier calls used."""

from __future__ import annotations

from typing import Any

import pytest

from guardtui.domain.verdicts import Usage
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.expense import CallExpense
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.templates import JudgeTemplate

from .judges import TOPIC

FENCE = 57
"""Bytes around a prompt."""


def expense_of(prompts: list[str], used: Usage | None = None, **calls: Any) -> CallExpense:
    template = JudgeTemplate((("system", "s" * 360), ("user", "{prompt}")))
    model = ModelAddress("http://localhost:1/v1", "m")
    options = JudgeOptions((model,), template, calls=CallOptions(**calls))
    return options.scanner().expense(TOPIC, prompts, used)


def test_texts_are_counted_by_four_bytes_a_token_and_an_answer_is_short() -> None:
    expense = expense_of(["p" * 40, "p" * 120])
    assert expense.input_tokens == (360 + 80 + FENCE) / 4 + 16
    assert expense.output_tokens == 60
    assert not expense.measured
    assert expense_of(["p"], answer_tokens=8).output_tokens == 8
    assert expense_of([]).tokens(0) == 0


def test_earlier_usage_replaces_the_estimate() -> None:
    used = Usage(calls=10, input_tokens=3000, output_tokens=500, cost=9)
    expense = expense_of(["p"], used, prices=Prices(2, 10))
    assert (expense.input_tokens, expense.output_tokens, expense.measured) == (300, 50, True)
    assert expense.cost(1000) == pytest.approx(0.6 + 0.5)
    assert "earlier calls" in expense.basis


def test_uncounted_calls_are_ignored() -> None:
    used = Usage(calls=10, input_tokens=3000, output_tokens=500, uncounted=1)
    assert not expense_of(["p"], used).measured


def test_expense_includes_all_models() -> None:
    expense = CallExpense(300, 50, Prices(2, 10), models=3)
    assert expense.tokens(100) == 105_000
    assert expense.cost(100) == pytest.approx(3 * (0.06 + 0.05))
    assert expense.text(100) == "about 105,000 tokens, cost about 0.33"
    assert expense.text(0) == ""


def test_expense_without_prices_has_no_cost_but_names_the_budget() -> None:
    expense = expense_of(["p" * 40], most_tokens=20_000)
    assert expense.cost(5) is None
    assert "cost" not in expense.text(5)
    assert "No price is given (price-in, price-out)." in expense.basis
    assert "stops before it exceeds the budget of 20,000 tokens" in expense.basis
