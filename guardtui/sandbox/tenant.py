"""Topics and profiles of the tenant, with all their revisions; invalid changes are rejected."""

from __future__ import annotations

import copy
import uuid
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from guardtui.domain.topic import Topic, violations
from guardtui.sandbox import policy as policies
from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.replies import RefusedError

TSG = "1"
AUTHOR = "sandbox@guardtui.invalid"
NAME_AT_MOST = 100


class TopicRevision(BaseModel):
    """The text of one revision of a topic."""

    model_config = ConfigDict(extra="forbid")

    revision: int = Field(ge=1)
    topic_name: str
    description: str
    examples: list[str]
    active: bool = True
    updated_by: str = AUTHOR
    last_modified_ts: str


class TopicRecord(BaseModel):
    """A topic with all its revisions, oldest first, numbered from 1 without gaps."""

    model_config = ConfigDict(extra="forbid")

    topic_id: str
    created_ts: str
    created_by: str = AUTHOR
    revisions: list[TopicRevision] = Field(min_length=1)

    @model_validator(mode="after")
    def _without_gaps(self) -> TopicRecord:
        if [revision.revision for revision in self.revisions] != list(
            range(1, len(self.revisions) + 1)
        ):
            raise ValueError("revisions must be 1, 2, 3 and so on")
        return self

    @property
    def newest(self) -> TopicRevision:
        """The current text."""
        return self.revisions[-1]

    def at(self, revision: int) -> TopicRevision:
        """Return the text of an existing revision."""
        return self.revisions[revision - 1]

    def shown(self) -> dict[str, Any]:
        """Return the topic as the service lists it."""
        newest = self.newest.model_dump()
        return {
            "topic_id": self.topic_id,
            **newest,
            "created_by": self.created_by,
            "created_ts": self.created_ts,
            "tsg_id": TSG,
        }


class ProfileRevision(BaseModel):
    """One revision of a profile, with its own id; revisions of a profile share the `family`."""

    model_config = ConfigDict(extra="forbid")

    profile_id: str
    family: str
    profile_name: str
    revision: int = Field(ge=1)
    active: bool = True
    policy: dict[str, Any]
    created_by: str = AUTHOR
    updated_by: str = AUTHOR
    last_modified_ts: str

    def shown(self) -> dict[str, Any]:
        """Return the revision as the service lists it."""
        shown = self.model_dump(exclude={"family", "policy"})
        shown["policy"] = policies.with_empty_buckets(copy.deepcopy(self.policy))
        return {**shown, "tsg_id": TSG}


class TenantData(BaseModel):
    """Content of the state file."""

    model_config = ConfigDict(extra="forbid")

    schema_version: int = Field(default=1, ge=1, le=1)
    topics: list[TopicRecord] = []
    profiles: list[ProfileRevision] = []

    @model_validator(mode="after")
    def _valid(self) -> TenantData:
        for profile in self.profiles:
            try:
                policies.check(profile.policy, self.revisions, empty_list=True, emptied=True)
            except RefusedError as refused:
                name = f"profile {profile.profile_name} revision {profile.revision}"
                raise ValueError(f"{name}: {refused}") from refused
        return self

    @property
    def revisions(self) -> dict[str, int]:
        """The newest revision of each topic, by topic id."""
        return {topic.topic_id: topic.newest.revision for topic in self.topics}


class Tenant:
    """Data of the management API."""

    def __init__(self, clock: SandboxClock, data: TenantData | None = None) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}
        self.data = data or TenantData()
        self.changed()
        if data is None:
            self._add_profile("sandbox", policies.classic_policy())
            self._add_profile("sandbox-directional", policies.directional_policy())

    def changed(self) -> None:
        """Update the indices after a change of `data`."""
        self._by_id = {profile.profile_id: profile for profile in self.data.profiles}
        self._by_name: dict[str, list[ProfileRevision]] = {}
        for profile in sorted(self.data.profiles, key=lambda profile: -profile.revision):
            self._by_name.setdefault(profile.profile_name, []).append(profile)

    # Topics

    def topic(self, topic_id: str) -> TopicRecord:
        """Return a topic by its id. Raises `RefusedError` (404)."""
        for record in self.data.topics:
            if record.topic_id == topic_id.lower():
                return record
        raise RefusedError(404, detail=f"no topic has the id {topic_id}")

    def create_topic(self, body: Any) -> TopicRecord:
        """Create a topic at revision 1. Raises `RefusedError` (400, 409)."""
        revision = self._topic_revision(body, 1, None)
        record = TopicRecord(
            topic_id=str(uuid.uuid4()),
            created_ts=revision.last_modified_ts,
            created_by=revision.updated_by,
            revisions=[revision],
        )
        self.data.topics.append(record)
        self.changed()
        return record

    def update_topic(self, topic_id: str, body: Any) -> TopicRecord:
        """Replace a topic's text, as a new revision. Raises `RefusedError` (400, 404, 409)."""
        record = self.topic(topic_id)
        number = record.newest.revision + 1
        record.revisions.append(self._topic_revision(body, number, record.topic_id))
        self.changed()
        return record

    def _topic_revision(self, body: Any, number: int, topic_id: str | None) -> TopicRevision:
        if not isinstance(body, dict):
            raise RefusedError(400, detail="the body is not an object")
        name, description = body.get("topic_name"), body.get("description")
        examples = body.get("examples")
        if not isinstance(name, str) or not isinstance(description, str):
            raise RefusedError(400, detail="topic_name and description are required, as texts")
        if not isinstance(examples, list) or not all(
            isinstance(example, str) for example in examples
        ):
            raise RefusedError(400, detail="examples are required, as a list of texts")
        active = body.get("active", True)
        if not isinstance(active, bool):
            raise RefusedError(400, detail="active must be true or false")
        broken = violations(Topic(name=name, description=description, examples=tuple(examples)))
        if broken:
            raise RefusedError(400, detail="; ".join(violation.message for violation in broken))
        for other in self.data.topics:
            if other.newest.topic_name == name and other.topic_id != topic_id:
                raise RefusedError(409, detail=f"a topic named '{name}' already exists")
        author = body.get("updated_by") or body.get("created_by")
        return TopicRevision(
            revision=number,
            topic_name=name,
            description=description,
            examples=examples,
            active=active,
            updated_by=author if isinstance(author, str) else AUTHOR,
            last_modified_ts=self._clock.stamp(),
        )

    def delete_topic(self, topic_id: str, *, force: bool) -> None:
        """Delete a topic. Raises `RefusedError` (404; 409 while a profile revision names it).

        With `force` it is removed from every profile revision first.
        """
        record = self.topic(topic_id)
        holders = [
            profile
            for profile in self.data.profiles
            if policies.references(profile.policy, record.topic_id)
        ]
        if holders and not force:
            message = f"topic {record.topic_id} is used by {len(holders)} profile revisions"
            payload = [
                {
                    "profile_id": profile.profile_id,
                    "profile_name": profile.profile_name,
                    "revision": profile.revision,
                }
                for profile in holders
            ]
            raise RefusedError(409, detail=message, extra={"message": message, "payload": payload})
        for profile in holders:
            policies.detach(profile.policy, record.topic_id)
        self.data.topics.remove(record)
        self.changed()

    # Profiles

    def profile(self, profile_id: str) -> ProfileRevision:
        """Return a revision of a profile by its id. Raises `RefusedError` (404)."""
        profile = self._by_id.get(profile_id.lower())
        if profile is None:
            raise RefusedError(404, detail=f"no profile has the id {profile_id}")
        return profile

    def current(self, name: str) -> ProfileRevision | None:
        """Return the highest revision with this name that has propagated to scans, or None."""
        now = self._clock.now()
        for profile in self._by_name.get(name, ()):
            if self._since.get(profile.profile_id, 0.0) <= now:
                return profile
        return None

    def latest(self) -> list[ProfileRevision]:
        """Return the highest revision of each profile."""
        newest: dict[str, ProfileRevision] = {}
        for profile in self.data.profiles:
            known = newest.get(profile.family)
            if known is None or profile.revision > known.revision:
                newest[profile.family] = profile
        return list(newest.values())

    def create_profile(self, body: Any, *, empty_list: bool) -> ProfileRevision:
        """Create a profile at revision 1. Raises `RefusedError` (400, 409)."""
        name, active, policy = self._profile_body(body, empty_list)
        self._require_free_name(name, None)
        return self._add_profile(name, policy, active=active)

    def update_profile(
        self, profile_id: str, body: Any, *, empty_list: bool, propagation: float
    ) -> ProfileRevision:
        """Add a revision with a new id; others stay. Raises `RefusedError` (400, 404, 409).

        Scans by name use it only after `propagation` seconds.
        """
        family = self.profile(profile_id).family
        name, active, policy = self._profile_body(body, empty_list)
        self._require_free_name(name, family)
        number = 1 + max(
            profile.revision for profile in self.data.profiles if profile.family == family
        )
        return self._add_profile(name, policy, family, number, active=active, delay=propagation)

    def delete_profile(self, profile_id: str) -> None:
        """Delete a revision of a profile. Raises `RefusedError` (404)."""
        self.data.profiles.remove(self.profile(profile_id))
        self.changed()

    def _profile_body(self, body: Any, empty_list: bool) -> tuple[str, bool, dict[str, Any]]:
        if not isinstance(body, dict):
            raise RefusedError(400, detail="the body is not an object")
        name, active = body.get("profile_name"), body.get("active", True)
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_AT_MOST:
            raise RefusedError(400, detail=f"profile_name must have 1 to {NAME_AT_MOST} characters")
        if not isinstance(active, bool):
            raise RefusedError(400, detail="active must be true or false")
        policy = body.get("policy", {})
        policies.check(policy, self.data.revisions, empty_list=empty_list)
        return name, active, policy

    def _require_free_name(self, name: str, family: str | None) -> None:
        if any(
            profile.profile_name == name and profile.family != family
            for profile in self.data.profiles
        ):
            raise RefusedError(409, detail=f"a profile named '{name}' already exists")

    def _add_profile(
        self,
        name: str,
        policy: dict[str, Any],
        family: str | None = None,
        number: int = 1,
        *,
        active: bool = True,
        delay: float = 0.0,
    ) -> ProfileRevision:
        row = ProfileRevision(
            profile_id=str(uuid.uuid4()),
            family=family or str(uuid.uuid4()),
            profile_name=name,
            revision=number,
            active=active,
            policy=policy,
            last_modified_ts=self._clock.stamp(),
        )
        self.data.profiles.append(row)
        if delay:
            self._since[row.profile_id] = self._clock.now() + delay
        self.changed()
        return row
