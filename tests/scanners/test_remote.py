"""What remote scans share: failed calls as verdicts."""

from __future__ import annotations

import pytest

from guardtui.domain.verdicts import Failure, Triggered
from guardtui.http.errors import Kind, ServiceError
from guardtui.scanners.remote import without_verdict


@pytest.mark.parametrize(
    ("kind", "attempts", "triggered", "failure"),
    [
        (Kind.SERVER, 6, Triggered.NO_VERDICT, Failure.FAILED),
        (Kind.FAULT, 1, Triggered.NO_VERDICT, Failure.FAILED),
        (Kind.LIMITED, 0, Triggered.NO_VERDICT, Failure.UNSENT),
        (Kind.CREDENTIALS, 1, Triggered.NO_VERDICT, Failure.REFUSED),
        (Kind.UNREACHABLE, 3, Triggered.NO_VERDICT, Failure.UNREACHABLE),
        (Kind.BUDGET, 0, Triggered.NOT_ASKED, Failure.BUDGET),
        (Kind.BUDGET, 2, Triggered.NO_VERDICT, Failure.BUDGET),
    ],
)
def test_a_failed_call_leaves_no_verdict_and_says_why(
    kind: Kind, attempts: int, triggered: Triggered, failure: Failure
) -> None:
    verdict = without_verdict(ServiceError(kind, "because", attempts=attempts))
    assert (verdict.triggered, verdict.failure, verdict.problem) == (triggered, failure, "because")
    assert not verdict.decided
