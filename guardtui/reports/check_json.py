"""The report of `guardtui check` as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from guardtui.reports.check import Remark
from guardtui.reports.json_data import Count, Omitted, encode
from guardtui.reports.survey_document import LabelNext, NearDuplicates, labels_next

if TYPE_CHECKING:
    from guardtui.advice.prompt_set import Survey


@dataclass(frozen=True, slots=True)
class CheckData:
    """What is wrong or doubtful; the last two are omitted without valid prompts."""

    errors: Count
    warnings: Count
    findings: Sequence[Remark]
    near_duplicates: Annotated[NearDuplicates | None, Omitted]
    label_next: Annotated[list[LabelNext] | None, Omitted]


def check_json(remarks: Sequence[Remark], surveyed: Survey | None) -> str:
    """Return the findings, and what was found in the prompt set, as JSON."""
    errors = sum(remark.severity == "error" for remark in remarks)
    near = None if surveyed is None else NearDuplicates.of(surveyed)
    spots = None if surveyed is None else labels_next(surveyed)
    return encode("check", CheckData(errors, len(remarks) - errors, remarks, near, spots))
