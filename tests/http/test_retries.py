"""Waits: as the service asks in any of its ways, else full jitter within bounds."""

from __future__ import annotations

import math
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.retries import LONGEST_WAIT, ONCE, UNSENT, Retries, asked_wait

WALL = 1_790_000_000.0


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({}, {}, None),
        ({"retry-after": "12"}, None, 12.0),
        ({"retry-after": " 1.5 "}, None, 1.5),
        ({"retry-after": formatdate(WALL + 30, usegmt=True)}, None, 30.0),
        ({"retry-after": formatdate(WALL - 30, usegmt=True)}, None, 0.0),
        # The service's clock is an hour off, and what counts is the time between its two dates.
        (
            {
                "retry-after": formatdate(WALL + 3630, usegmt=True),
                "date": formatdate(WALL + 3600, usegmt=True),
            },
            None,
            30.0,
        ),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": ""}, None, None),
        ({"retry-after": "-5"}, None, None),
        ({"retry-after": "9" * 14}, None, LONGEST_WAIT),
        ({"retry-after": "Mon, 99 Foo 10000 00:00:00 GMT"}, None, None),
        ({"retry-after-ms": "250"}, None, 0.25),
        ({}, {"retry_after": 3}, 3.0),
        ({}, {"retry_after": 2.5}, 2.5),
        ({}, {"retry_after": "20s"}, 20.0),
        ({}, {"retry_after": "1 Minute"}, 60.0),
        ({}, {"error": {"message": "x", "retry_after": {"interval": 1, "unit": "minute"}}}, 60.0),
        ({}, {"retry_after": {"interval": 500, "unit": "MS"}}, 0.5),
        ({}, {"retry_after": {"interval": 2, "unit": "Seconds"}}, 2.0),
        ({}, {"retry_after": {"interval": "3", "unit": "min"}}, 180.0),
        ({}, {"retry_after": {"interval": 3, "unit": "milliseconds"}}, 0.003),
        ({}, {"retry_after": {"interval": 1, "unit": "hour"}}, 3600.0),
        ({}, {"retry_after": {"interval": 4}}, 4.0),
        ({}, {"retry_after": {"interval": 4, "unit": "fortnight"}}, None),
        ({}, {"retry_after": {"interval": 4, "unit": None}}, None),
        ({}, {"retry_after": {"unit": "s"}}, None),
        ({}, {"retry_after": True}, None),
        ({}, {"retry_after": -4}, 0.0),
        ({}, {"retry_after": math.nan}, None),
        ({}, {"retry_after": math.inf}, None),
        ({}, {"retry_after": 10**400}, LONGEST_WAIT),
        ({}, {"retry_after": [1]}, None),
        ({}, {"error": "slow down", "retry_after": 7}, 7.0),
        ({}, ["retry_after"], None),
        # Several: the longest is safe for all of them.
        ({"retry-after": "1"}, {"retry_after": 5, "error": {"retry_after": 3}}, 5.0),
    ],
)
def test_requested_waits_are_read(
    headers: dict[str, str], body: object, wait: float | None
) -> None:
    assert asked_wait(headers, body, WALL) == (None if wait is None else pytest.approx(wait))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["retry_after", "error", "interval", "unit"]), inner)
    ),
)


@given(anything, st.text(), st.text())
def test_any_response_is_read_or_rejected(body: Any, header: str, date: str) -> None:
    wait = asked_wait({"retry-after": header, "date": date, "retry-after-ms": header}, body, WALL)
    assert wait is None or 0 <= wait <= LONGEST_WAIT


def failed(kind: ErrorKind, retry_after: float | None = None, final: bool = False) -> ServiceError:
    return ServiceError(kind, "x", retry_after=retry_after, final=final)


@given(st.floats(0, 1), st.integers(1, 2000))
def test_full_jitter_is_between_zero_and_the_bound(drawn: float, attempt: int) -> None:
    policy = Retries(attempts=10_000, base=0.5, longest=20.0)
    wait = policy.wait(failed(ErrorKind.SERVER), attempt, lambda: drawn)
    assert wait == pytest.approx(drawn * min(20.0, 0.5 * 2 ** (min(attempt, 100) - 1)))


def test_retryable_kinds_are_retried() -> None:
    def again(policy: Retries, error: ServiceError, attempt: int = 1) -> bool:
        return policy.wait(error, attempt, lambda: 0.5) is not None

    repeated = {kind for kind in ErrorKind if again(Retries(), failed(kind))}
    assert repeated == {
        ErrorKind.UNREACHABLE,
        ErrorKind.BROKEN,
        ErrorKind.TIMEOUT,
        ErrorKind.LIMITED,
        ErrorKind.SERVER,
    }
    assert {kind for kind in ErrorKind if again(UNSENT, failed(kind))} == {
        ErrorKind.UNREACHABLE,
        ErrorKind.LIMITED,
    }
    assert not [kind for kind in ErrorKind if again(ONCE, failed(kind))]
    assert not again(Retries(), failed(ErrorKind.LIMITED, final=True))
    assert again(Retries(attempts=3), failed(ErrorKind.SERVER), 2)
    assert not again(Retries(attempts=3), failed(ErrorKind.SERVER), 3)
    assert Retries().wait(failed(ErrorKind.LIMITED, 7.5), 1, lambda: 0.5) == 7.5
    assert Retries().wait(failed(ErrorKind.LIMITED, 0.0), 1, lambda: 0.5) == 0.5
