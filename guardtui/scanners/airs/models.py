"""What AIRS sends, typed; fields that are not known here are kept as they came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from guardtui.http.errors import inert
from guardtui.scanners.airs.errors import unusable


class Wire(BaseModel):
    """Something that came over the wire. null counts as absent, which clients of AIRS rely on."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)
    what: ClassVar[str] = "it"

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = cls.model_fields
        return {name: one for name, one in data.items() if one is not None or name not in fields}

    @classmethod
    def read(cls, data: object) -> Self:
        """The model of a JSON value. Raises ServiceError saying which field is wrong."""
        try:
            return cls.model_validate(data)
        except (ValidationError, RecursionError) as error:
            raise unusable(f"{cls.what}: {problem_of(error)}") from None


def problem_of(error: Exception) -> str:
    """The first field that is wrong, without its value."""
    if not isinstance(error, ValidationError):
        return "it is nested too deeply"
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"][:6])
    return inert(f"{where}: {first['msg']}" if where else first["msg"])


class DetectorError(Wire):
    """A detector that did not finish: `status` is `error` or `timeout`."""

    content_type: str = ""
    feature: str = ""
    status: str = ""


class TopicDetails(Wire):
    """Names (not ids) of the topics that matched."""

    allowed_topics: tuple[str, ...] = ()
    blocked_topics: tuple[str, ...] = ()


class DetectionDetails(Wire):
    """Details of what was detected on one side."""

    topic_guardrails_details: TopicDetails = TopicDetails()


class ScanResponse(Wire):
    """One scanned request. Of `prompt_detected` there is a key for each enabled detector."""

    what = "the scan result"

    scan_id: str = ""
    report_id: str = ""
    tr_id: str = ""
    session_id: str = ""
    profile_id: str = ""
    profile_name: str = ""
    category: str = ""
    action: str = ""
    timeout: bool = False
    error: bool = False
    errors: tuple[DetectorError, ...] = ()
    prompt_detected: dict[str, Any] | None = None
    response_detected: dict[str, Any] | None = None
    prompt_detection_details: DetectionDetails = DetectionDetails()
    response_detection_details: DetectionDetails = DetectionDetails()


class Receipt(Wire):
    """A batch was taken: one scan id for all of it."""

    what = "the receipt of a batch"

    scan_id: str = Field(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z-]+$")
    report_id: str = ""
    received: str = ""


class ResultRow(Wire):
    """How one request of a batch stands. `result` is a scan result, read elsewhere."""

    what = "a row of results"

    scan_id: str
    req_id: int | None = None
    status: str = ""
    result: Any = None

    @property
    def complete(self) -> bool:
        """Whether there is a result; `COMPLETED` is written as well."""
        return self.status.strip().lower() in ("complete", "completed")

    @property
    def failed(self) -> bool:
        """Whether there will be none."""
        return self.status.strip().lower() in ("failed", "failure", "error")


class TopicReport(Wire):
    """What the topic guardrails say in a report; the names of lists are written this way."""

    allowed_topic_list: str = ""
    blocked_topic_list: str = ""
    allowed: tuple[str, ...] = Field(default=(), alias="allowedTopics")
    blocked: tuple[str, ...] = Field(default=(), alias="blockedTopics")

    @property
    def matched(self) -> tuple[bool | None, bool | None]:
        """Whether an allow topic matched and whether a block topic did; None where not said."""
        return _matched(self.allowed_topic_list), _matched(self.blocked_topic_list)


def _matched(text: str) -> bool | None:
    words = text.replace("_", " ").split()
    return {"matched": True, "not matched": False}.get(" ".join(words).lower())


class ResultDetail(Wire):
    """Details of one detector, of which the topics' are read."""

    topic_guardrails_report: TopicReport | None = None


class Detection(Wire):
    """One detector's finding in a report."""

    data_type: str = ""
    detection_service: str = ""
    verdict: str = ""
    action: str = ""
    result_detail: ResultDetail = ResultDetail()


class Report(Wire):
    """The report on one scanned request. `transaction_id` holds the `tr_id` of the request."""

    what = "a report"

    report_id: str = ""
    scan_id: str = ""
    req_id: int | None = None
    transaction_id: str = ""
    detection_results: tuple[Detection, ...] = ()

    def topics(self, side: str = "prompt") -> TopicReport | None:
        """What the topic guardrails say of one side; None when they were not asked."""
        for one in self.detection_results:
            if one.detection_service == "topic_guardrails" and one.data_type in (side, ""):
                return one.result_detail.topic_guardrails_report
        return None


class CustomTopic(Wire):
    """A topic as the service has it; `revision` counts its texts from 1."""

    what = "a topic"

    topic_id: str = ""
    topic_name: str
    revision: int = 0
    active: bool = True
    description: str = ""
    examples: tuple[str, ...] = ()


class SecurityProfile(Wire):
    """One revision of a profile, with an id of its own. `policy` is raw JSON."""

    what = "a profile"

    profile_id: str = ""
    profile_name: str
    revision: int = 0
    active: bool = True
    policy: dict[str, Any] = {}
