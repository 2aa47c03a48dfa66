"""Client of the management API: lists and changes topics and profiles."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError, inert
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.retries import UNSENT, Retries
from guardtui.http.secret import bearer
from guardtui.scanners.airs.credentials import ManagementAccess
from guardtui.scanners.airs.errors import AirsError, reworded, unusable
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile, WireModel
from guardtui.scanners.airs.policy import for_sending
from guardtui.scanners.airs.policy_paths import references
from guardtui.scanners.airs.tokens import AccessTokens
from guardtui.scanners.airs.topic_revisions import ServiceRevisions, TopicRevisions

if TYPE_CHECKING:
    from guardtui.http.client import Reply

Row = TypeVar("Row", bound=WireModel)
Result = TypeVar("Result")

PAGE = 100
PAGES_AT_MOST = 1000
_PREFIX = "/v1/mgmt"
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_WRITE = Retries(on=UNSENT.on)
"""A write is repeated only if the service certainly ignored it: each one creates a revision."""


class ManagementClient:
    """Topics and profiles of one tenant. Close it (`async with`); belongs to one event loop.

    All calls raise ServiceError. For paths with two forms, the form that worked is remembered.
    `revisions` remembers the texts of topics, because the service returns only the newest.
    """

    def __init__(
        self,
        account: ManagementAccess,
        *,
        tokens: AccessTokens | None = None,
        limit: AdaptiveLimit | None = None,
        retries: Retries | None = None,
        timeout: float = 60.0,
        clock: Clock = CLOCK,
        revisions: TopicRevisions | None = None,
    ) -> None:
        from guardtui.http.client import RemoteClient

        self.account = account
        self.revisions = ServiceRevisions(str(account.endpoint), revisions)
        self._tokens = tokens or AccessTokens(account, clock=clock)
        self._client = RemoteClient(
            account.endpoint, limit=limit, retries=retries, timeout=timeout, clock=clock
        )
        self._forms: dict[str, int] = {}

    # Topics

    async def topics(self) -> list[CustomTopic]:
        """Return all topics of the tenant, at their newest revision."""
        topics = await self._list("topics", "custom_topics", CustomTopic)
        self.revisions.keep(topics)
        return topics

    async def topic(self, name: str) -> CustomTopic | None:
        """Return the topic with exactly this name, or None."""
        topics = [topic for topic in await self.topics() if topic.topic_name == name]
        return max(topics, key=lambda topic: topic.revision, default=None)

    async def create_topic(
        self, name: str, description: str, examples: tuple[str, ...]
    ) -> CustomTopic:
        """Create a topic. An existing name is rejected with status 409."""
        body = _topic_body(name, description, examples, True)
        reply = await self._call("POST", "/topic", json=body, retry=_WRITE)
        return self._seen(CustomTopic.read(reply.data))

    async def update_topic(
        self,
        topic_id: str,
        name: str,
        description: str,
        examples: tuple[str, ...],
        *,
        active: bool = True,
    ) -> CustomTopic:
        """Replace the text of a topic as a new revision; profiles keep the pinned one."""
        path = f"/topic/uuid/{_checked_id(topic_id)}"
        body = _topic_body(name, description, examples, active)
        reply = await self._call("PUT", path, json=body, retry=_WRITE)
        return self._seen(CustomTopic.read(reply.data))

    def _seen(self, topic: CustomTopic) -> CustomTopic:
        self.revisions.keep([topic])
        return topic

    async def delete_topic(self, topic_id: str) -> str:
        """Delete a topic, and return the message of the service.

        Rejected (409) while any revision of a profile names it; the error lists them.
        """
        path = f"/topic/{_checked_id(topic_id)}"
        try:
            return await self._delete(path, {})
        except ServiceError as error:
            if error.status != 409:
                raise
            conflict = error
        raise reworded(conflict, f"{conflict.message[:100]}; {await self._holders(topic_id)}")

    async def force_delete_topic(self, topic_id: str, updated_by: str) -> str:
        """Delete a topic and remove it from every revision of every profile.

        `updated_by` is an e-mail address, which the service requires.
        """
        name = _checked_id(topic_id)
        paths = (f"/topic/{name}/force", f"/topic/force/{name}")
        return await self._either(
            "force-topic",
            paths,
            (404, 405),
            lambda path: self._delete(path, {"updated_by": updated_by}),
        )

    # Profiles

    async def profiles(self, *, latest: bool = False) -> list[SecurityProfile]:
        """Return revisions of all profiles, unordered; with `latest`, the highest of each name."""
        if not latest:
            return await self._list("profiles", "ai_profiles", SecurityProfile)
        try:
            rows = await self._list("profiles", "ai_profiles", SecurityProfile, {"latest": "true"})
        except ServiceError as error:
            if error.status != 400:
                raise
            rows = await self._list("profiles", "ai_profiles", SecurityProfile)
        newest: dict[str, SecurityProfile] = {}
        for row in rows:
            known = newest.get(row.profile_name)
            if known is None or row.revision > known.revision:
                newest[row.profile_name] = row
        return list(newest.values())

    async def profile(self, name: str) -> SecurityProfile | None:
        """Return the highest revision of the profile with exactly this name, or None."""
        rows = await self.profiles(latest=True)
        return next((row for row in rows if row.profile_name == name), None)

    async def update_profile(
        self, profile: SecurityProfile, policy: Mapping[str, Any]
    ) -> SecurityProfile:
        """Replace the policy of a profile, as a new revision with its own id.

        Empty lists of topics are not sent.
        """
        path = f"/profile/uuid/{_checked_id(profile.profile_id)}"
        sent, _ = for_sending(dict(policy))
        body = {"profile_name": profile.profile_name, "active": profile.active, "policy": sent}
        reply = await self._call("PUT", path, json=body, retry=_WRITE)
        return SecurityProfile.read(reply.data)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()
        await self._tokens.aclose()

    async def __aenter__(self) -> ManagementClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _call(self, method: str, path: str, **options: Any) -> Reply:
        """Send a request with a token; a rejected token is replaced once."""
        token = await self._tokens.get()
        try:
            return await self._client.request(
                method, _PREFIX + path, credential=bearer(token), **options
            )
        except ServiceError as error:
            if error.status not in (401, 403):
                raise
        self._tokens.drop(token)
        token = await self._tokens.get()
        try:
            return await self._client.request(
                method, _PREFIX + path, credential=bearer(token), **options
            )
        except ServiceError as error:
            if error.status == 403:
                hint = "the role of this service account lacks the permission"
                error = reworded(error, f"{error.message[:150]} ({hint})")
            raise error from None

    async def _delete(self, path: str, params: dict[str, str]) -> str:
        try:
            reply = await self._call("DELETE", path, params=params)
        except ServiceError as error:
            if error.status == 404 and error.attempts > 1:
                return "deleted"  # by an attempt whose response was lost
            raise
        data = reply.data
        if isinstance(data, dict):
            data = data.get("message")
        return inert(data) if isinstance(data, str) and data.strip() else "deleted"

    async def _either(
        self,
        name: str,
        paths: tuple[str, str],
        unknown: tuple[int, ...],
        call: Callable[[str], Awaitable[Result]],
    ) -> Result:
        """Call the first form of a path, and the second if the service does not know the first."""
        chosen = self._forms.get(name)
        if chosen is not None:
            return await call(paths[chosen])
        failure: ServiceError | None = None
        for form, path in enumerate(paths):
            try:
                result = await call(path)
            except ServiceError as error:
                if error.status not in unknown:
                    raise
                failure = failure or error
            else:
                self._forms[name] = form
                return result
        raise failure or AssertionError("at least one path is required")

    async def _list(
        self, path: str, key: str, row: type[Row], more: Mapping[str, str] | None = None
    ) -> list[Row]:
        """Return the rows of all pages. A `next_offset` that does not increase is ignored."""
        rows: dict[tuple[object, ...], Row] = {}
        offset = 0
        for _ in range(PAGES_AT_MOST):
            params = {"offset": str(offset), "limit": str(PAGE), **(more or {})}
            page = await self._page(path, params)
            for data in _rows(page, key):
                # A list that grows while it is read contains some rows twice.
                rows[_identity(data)] = row.read(data)
            following = page.get("next_offset") if isinstance(page, dict) else None
            if type(following) is not int or following <= offset:
                return list(rows.values())
            offset = following
        raise unusable(f"the list of {path} does not end")

    async def _page(self, path: str, params: Mapping[str, str]) -> Any:
        async def call(form: str) -> Any:
            return (await self._call("GET", form, params=params)).data

        forms = (f"/{path}", f"/{path}/tsg/{self.account.tsg_id}")
        if params["offset"] != "0":
            return await call(forms[self._forms.get(path, 0)])
        return await self._either(path, forms, (403, 404, 405), call)

    async def _holders(self, topic_id: str) -> str:
        """Return which revisions of profiles name a topic, in words."""
        try:
            rows = [row for row in await self.profiles() if references(row.policy, topic_id)]
        except ServiceError:
            return "profiles name it, but they could not be listed"
        if not rows:
            return "none of the listed profiles names it"
        revisions: dict[str, list[int]] = {}
        for row in rows:
            revisions.setdefault(row.profile_name, []).append(row.revision)
        named = [
            f"{inert(name, characters=40)} (revision {', '.join(map(str, sorted(numbers)[-3:]))})"
            for name, numbers in list(revisions.items())[:4]
        ]
        more = f" and {len(revisions) - 4} more" if len(revisions) > 4 else ""
        return f"named by {', '.join(named)}{more}"


def _topic_body(
    name: str, description: str, examples: tuple[str, ...], active: bool
) -> dict[str, Any]:
    return {
        "topic_name": name,
        "description": description,
        "examples": list(examples),
        "active": active,
    }


def _checked_id(text: str) -> str:
    if not _UUID.fullmatch(text):
        raise AirsError(f"{inert(text, characters=60)!r} is not the id of a topic or profile")
    return text


def _rows(page: object, key: str) -> list[Any]:
    """Return the rows of a page; without rows, the list may be null or missing."""
    if page is None or page == {}:
        return []
    if isinstance(page, dict) and key in page:
        rows = page[key]
        if rows is None:
            return []
        if isinstance(rows, list):
            return rows
    raise unusable(f"not a list of {key}")


def _identity(data: Any) -> tuple[object, ...]:
    names = ("topic_id", "topic_name", "profile_id", "profile_name", "revision")
    return tuple(str(data.get(name)) for name in names)
