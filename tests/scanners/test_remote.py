"""What remote scans share: failed calls as verdicts."""

from __future__ import annotations

import pytest

from guardtui.domain.verdicts import Failure, Triggered
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.scanners.remote import without_verdict


@pytest.mark.parametrize(
    ("kind", "attempts", "triggered", "failure"),
    [
        (ErrorKind.SERVER, 6, Triggered.NO_VERDICT, Failure.FAILED),
        (ErrorKind.FAULT, 1, Triggered.NO_VERDICT, Failure.FAILED),
        (ErrorKind.LIMITED, 0, Triggered.NO_VERDICT, Failure.UNSENT),
        (ErrorKind.CREDENTIALS, 1, Triggered.NO_VERDICT, Failure.REFUSED),
        (ErrorKind.UNREACHABLE, 3, Triggered.NO_VERDICT, Failure.UNREACHABLE),
        (ErrorKind.BUDGET, 0, Triggered.NOT_ASKED, Failure.BUDGET),
        (ErrorKind.BUDGET, 2, Triggered.NO_VERDICT, Failure.BUDGET),
    ],
)
def test_failed_call_gives_no_verdict_with_a_problem(
    kind: ErrorKind, attempts: int, triggered: Triggered, failure: Failure
) -> None:
    verdict = without_verdict(ServiceError(kind, "because", attempts=attempts))
    assert (verdict.triggered, verdict.failure, verdict.problem) == (triggered, failure, "because")
    assert not verdict.decided
