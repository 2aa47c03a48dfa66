"""What calls to models will use: from their texts, or from what earlier calls used."""

from __future__ import annotations

import pytest

from guardtui.domain.verdicts import Usage
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import CallBudget, Prices
from guardtui.scanners.models.expense import CallExpense, PaidScanner, estimate_expense
from guardtui.scanners.models.judge import JudgeOptions


def messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": "s" * 360}, {"role": "user", "content": prompt}]


def test_texts_are_counted_by_four_bytes_a_token_and_an_answer_is_short() -> None:
    expense = estimate_expense(messages, ["p" * 40, "p" * 120], CallBudget(), None, 1)
    assert expense.input_tokens == (360 + 80) / 4 + 16
    assert expense.output_tokens == 60
    assert not expense.measured
    assert (
        estimate_expense(messages, ["p"], CallBudget(answer_tokens=8), None, 1).output_tokens == 8
    )
    assert estimate_expense(messages, [], CallBudget(), None, 1).tokens(0) == 0


def test_earlier_usage_replaces_the_estimate() -> None:
    used = Usage(calls=10, input_tokens=3000, output_tokens=500, cost=9)
    expense = estimate_expense(messages, ["p"], CallBudget(Prices(2, 10)), used, 1)
    assert (expense.input_tokens, expense.output_tokens, expense.measured) == (300, 50, True)
    assert expense.cost(1000) == pytest.approx(0.6 + 0.5)
    assert "earlier calls" in expense.basis


def test_uncounted_calls_are_ignored() -> None:
    used = Usage(calls=10, input_tokens=3000, output_tokens=500, uncounted=1)
    assert not estimate_expense(messages, ["p"], CallBudget(), used, 1).measured


def test_expense_includes_all_models() -> None:
    expense = CallExpense(300, 50, Prices(2, 10), models=3)
    assert expense.tokens(100) == 105_000
    assert expense.cost(100) == pytest.approx(3 * (0.06 + 0.05))
    assert expense.text(100) == "about 105,000 tokens, cost about 0.33"
    assert expense.text(0) == ""


def test_expense_without_prices_has_no_cost_but_names_the_budget() -> None:
    budget = CallBudget(most_tokens=20_000)
    expense = estimate_expense(messages, ["p" * 40], budget, None, 1)
    assert expense.cost(5) is None
    assert "cost" not in expense.text(5)
    assert "No price is given (price-in, price-out)." in expense.basis
    assert "stops before it exceeds the budget of 20,000 tokens" in expense.basis


def test_judge_is_a_paid_scanner() -> None:
    judge = JudgeOptions((ModelAddress("http://localhost:1/v1", "m"),)).scanner()
    assert isinstance(judge, PaidScanner)
