"""Typed data of AIRS responses; unknown fields are kept unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from guardtui.http.errors import inert
from guardtui.scanners.airs.errors import unusable


class WireModel(BaseModel):
    """Data of a response. A null counts as absent, as clients of AIRS rely on."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)
    what: ClassVar[str] = "it"

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        fields = cls.model_fields
        return {
            name: value for name, value in data.items() if value is not None or name not in fields
        }

    @classmethod
    def read(cls, data: object) -> Self:
        """Return the model of a JSON value. Raises ServiceError naming the first invalid field."""
        try:
            return cls.model_validate(data)
        except (ValidationError, RecursionError) as error:
            raise unusable(f"{cls.what}: {problem_of(error)}") from None


def problem_of(error: Exception) -> str:
    """Return the first invalid field and its problem, without its value."""
    if not isinstance(error, ValidationError):
        return "it is nested too deeply"
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"][:6])
    return inert(f"{field}: {first['msg']}" if field else first["msg"])


class DetectorError(WireModel):
    """A detector that did not finish: `status` is `error` or `timeout`."""

    content_type: str = ""
    feature: str = ""
    status: str = ""


class TopicDetails(WireModel):
    """Names (not ids) of the topics that matched."""

    allowed_topics: tuple[str, ...] = ()
    blocked_topics: tuple[str, ...] = ()


class DetectionDetails(WireModel):
    """Details of what was detected on one side."""

    topic_guardrails_details: TopicDetails = TopicDetails()


class ScanResponse(WireModel):
    """One scanned request. `prompt_detected` has a key for each enabled detector."""

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


class Receipt(WireModel):
    """Receipt of an accepted batch: one scan id for all its requests."""

    what = "the receipt of a batch"

    scan_id: str = Field(min_length=1, max_length=64, pattern=r"^[0-9A-Za-z-]+$")
    report_id: str = ""
    received: str = ""


class ResultRow(WireModel):
    """State of one request of a batch. `result` is a scan result, read by `read_answer`."""

    what = "a row of results"

    scan_id: str
    req_id: int | None = None
    status: str = ""
    result: Any = None

    @property
    def request(self) -> tuple[str, int | None]:
        """Identifies the request among those of all batches."""
        return self.scan_id, self.req_id

    @property
    def complete(self) -> bool:
        """Return whether the result is available; `COMPLETED` is another spelling."""
        return self.status.strip().lower() in ("complete", "completed")

    @property
    def failed(self) -> bool:
        """Return whether the scan failed."""
        return self.status.strip().lower() in ("failed", "failure", "error")


class CustomTopic(WireModel):
    """A topic of the service; `revision` counts its texts from 1."""

    what = "a topic"

    topic_id: str = ""
    topic_name: str
    revision: int = 0
    active: bool = True
    description: str = ""
    examples: tuple[str, ...] = ()


class SecurityProfile(WireModel):
    """One revision of a profile, with its own id. `policy` is raw JSON."""

    what = "a profile"

    profile_id: str = ""
    profile_name: str
    revision: int = 0
    active: bool = True
    policy: dict[str, Any] = {}
