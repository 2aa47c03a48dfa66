"""Topics and profiles of the one tenant, with all their revisions; what cannot be is refused."""

from __future__ import annotations

import copy
import uuid
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from guardtui.domain.topic import Topic, violations
from guardtui.sandbox import policy as policies
from guardtui.sandbox.clock import Clock
from guardtui.sandbox.replies import RefusedError

TSG = "1"
AUTHOR = "sandbox@guardtui.invalid"
NAME_AT_MOST = 100


class TopicRevision(BaseModel):
    """The text of a topic as of one revision."""

    model_config = ConfigDict(extra="forbid")

    revision: int = Field(ge=1)
    topic_name: str
    description: str
    examples: list[str]
    active: bool = True
    updated_by: str = AUTHOR
    last_modified_ts: str


class TopicRecord(BaseModel):
    """A topic with all its revisions, the oldest first: number 1 and on without a gap."""

    model_config = ConfigDict(extra="forbid")

    topic_id: str
    created_ts: str
    created_by: str = AUTHOR
    revisions: list[TopicRevision] = Field(min_length=1)

    @model_validator(mode="after")
    def _without_gaps(self) -> TopicRecord:
        if [one.revision for one in self.revisions] != list(range(1, len(self.revisions) + 1)):
            raise ValueError("revisions must be 1, 2, 3 and so on")
        return self

    @property
    def newest(self) -> TopicRevision:
        """The text as it is now."""
        return self.revisions[-1]

    def at(self, revision: int) -> TopicRevision:
        """The text as of a revision that exists."""
        return self.revisions[revision - 1]

    def shown(self) -> dict[str, Any]:
        """The topic as the service lists it."""
        newest = self.newest.model_dump()
        return {
            "topic_id": self.topic_id,
            **newest,
            "created_by": self.created_by,
            "created_ts": self.created_ts,
            "tsg_id": TSG,
        }


class ProfileRevision(BaseModel):
    """One revision of a profile, with an id of its own; those of one `family` belong together."""

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
        """The revision as the service lists it."""
        shown = self.model_dump(exclude={"family", "policy"})
        shown["policy"] = policies.with_empty_buckets(copy.deepcopy(self.policy))
        return {**shown, "tsg_id": TSG}


class TenantData(BaseModel):
    """All that the state file keeps."""

    model_config = ConfigDict(extra="forbid")

    schema_version: int = Field(default=1, ge=1, le=1)
    topics: list[TopicRecord] = []
    profiles: list[ProfileRevision] = []

    @model_validator(mode="after")
    def _sound(self) -> TenantData:
        for one in self.profiles:
            try:
                policies.check(one.policy, self.revisions, empty_list=True, emptied=True)
            except RefusedError as refused:
                where = f"profile {one.profile_name} revision {one.revision}"
                raise ValueError(f"{where}: {refused}") from refused
        return self

    @property
    def revisions(self) -> dict[str, int]:
        """The newest revision of each topic by its id."""
        return {one.topic_id: one.newest.revision for one in self.topics}


class Tenant:
    """What the management API works on.

    `version` grows with every change, so that what was derived from an older one is known as such.
    """

    def __init__(self, clock: Clock, data: TenantData | None = None) -> None:
        self._clock = clock
        self.version = 0
        self._since: dict[str, float] = {}
        self.data = data or TenantData()
        self.changed()
        if data is None:
            self._add_profile("sandbox", policies.classic_policy())
            self._add_profile("sandbox-directional", policies.directional_policy())

    def changed(self) -> None:
        """Say that `data` is not as it was."""
        self.version += 1
        self._by_id = {one.profile_id: one for one in self.data.profiles}
        self._by_name: dict[str, list[ProfileRevision]] = {}
        for one in sorted(self.data.profiles, key=lambda one: -one.revision):
            self._by_name.setdefault(one.profile_name, []).append(one)

    # Topics

    def topic(self, topic_id: str) -> TopicRecord:
        """A topic by its id; raises `RefusedError` (404)."""
        for record in self.data.topics:
            if record.topic_id == topic_id.lower():
                return record
        raise RefusedError(404, detail=f"there is no topic with the id {topic_id}")

    def create_topic(self, body: Any) -> TopicRecord:
        """A new topic at revision 1; raises `RefusedError` (400, 409)."""
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
        """Replace a topic's text, as one more revision; raises `RefusedError` (400, 404, 409)."""
        record = self.topic(topic_id)
        number = record.newest.revision + 1
        record.revisions.append(self._topic_revision(body, number, record.topic_id))
        self.changed()
        return record

    def _topic_revision(self, body: Any, number: int, topic_id: str | None) -> TopicRevision:
        if not isinstance(body, dict):
            raise RefusedError(400, detail="the body is no object")
        name, description = body.get("topic_name"), body.get("description")
        examples = body.get("examples")
        if not isinstance(name, str) or not isinstance(description, str):
            raise RefusedError(400, detail="topic_name and description are needed, as texts")
        if not isinstance(examples, list) or not all(isinstance(one, str) for one in examples):
            raise RefusedError(400, detail="examples are needed, as a list of texts")
        active = body.get("active", True)
        if not isinstance(active, bool):
            raise RefusedError(400, detail="active must be true or false")
        broken = violations(Topic(name=name, description=description, examples=tuple(examples)))
        if broken:
            raise RefusedError(400, detail="; ".join(one.message for one in broken))
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
        """Delete a topic; raises `RefusedError` (404; 409 while a profile revision references it).

        With `force` it is detached from every profile revision first.
        """
        record = self.topic(topic_id)
        holders = [
            one for one in self.data.profiles if policies.references(one.policy, record.topic_id)
        ]
        if holders and not force:
            message = f"topic {record.topic_id} is used by {len(holders)} profile revisions"
            payload = [
                {
                    "profile_id": one.profile_id,
                    "profile_name": one.profile_name,
                    "revision": one.revision,
                }
                for one in holders
            ]
            raise RefusedError(409, detail=message, extra={"message": message, "payload": payload})
        for one in holders:
            policies.detach(one.policy, record.topic_id)
        self.data.topics.remove(record)
        self.changed()

    # Profiles

    def profile(self, profile_id: str) -> ProfileRevision:
        """One revision of a profile by its own id; raises `RefusedError` (404)."""
        found = self._by_id.get(profile_id.lower())
        if found is None:
            raise RefusedError(404, detail=f"there is no profile with the id {profile_id}")
        return found

    def current(self, name: str) -> ProfileRevision | None:
        """The highest revision of this name that scans have heard of by now."""
        now = self._clock.now()
        for one in self._by_name.get(name, ()):
            if self._since.get(one.profile_id, 0.0) <= now:
                return one
        return None

    def latest(self) -> list[ProfileRevision]:
        """The highest revision of each profile."""
        newest: dict[str, ProfileRevision] = {}
        for one in self.data.profiles:
            known = newest.get(one.family)
            if known is None or one.revision > known.revision:
                newest[one.family] = one
        return list(newest.values())

    def create_profile(self, body: Any, *, empty_list: bool) -> ProfileRevision:
        """A new profile at revision 1; raises `RefusedError` (400, 409)."""
        name, active, policy = self._profile_body(body, empty_list)
        self._refuse_name(name, None)
        return self._add_profile(name, policy, active=active)

    def update_profile(
        self, profile_id: str, body: Any, *, empty_list: bool, propagation: float
    ) -> ProfileRevision:
        """One more revision with a new id; the others stay. Raises `RefusedError` (400, 404, 409).

        Scans by name know it only after `propagation` seconds.
        """
        family = self.profile(profile_id).family
        name, active, policy = self._profile_body(body, empty_list)
        self._refuse_name(name, family)
        number = 1 + max(one.revision for one in self.data.profiles if one.family == family)
        return self._add_profile(name, policy, family, number, active=active, delay=propagation)

    def delete_profile(self, profile_id: str) -> None:
        """Delete one revision of a profile; raises `RefusedError` (404)."""
        self.data.profiles.remove(self.profile(profile_id))
        self.changed()

    def _profile_body(self, body: Any, empty_list: bool) -> tuple[str, bool, dict[str, Any]]:
        if not isinstance(body, dict):
            raise RefusedError(400, detail="the body is no object")
        name, active = body.get("profile_name"), body.get("active", True)
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_AT_MOST:
            raise RefusedError(400, detail=f"profile_name must have 1 to {NAME_AT_MOST} characters")
        if not isinstance(active, bool):
            raise RefusedError(400, detail="active must be true or false")
        policy = body.get("policy", {})
        policies.check(policy, self.data.revisions, empty_list=empty_list)
        return name, active, policy

    def _refuse_name(self, name: str, family: str | None) -> None:
        if any(one.profile_name == name and one.family != family for one in self.data.profiles):
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
