"""`guardtui doctor` of AIRS: credentials, addresses, clock, key, account, profile, topics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

from guardtui.app.guardrails.check import KEY, check_airs
from guardtui.app.guardrails.check_result import CheckResult
from guardtui.cli import diagnostics, signals
from guardtui.cli.airs_service import known_revisions
from guardtui.domain.text import display_text
from guardtui.http.address import Endpoint
from guardtui.http.errors import ErrorKind, ServiceError, inert
from guardtui.http.retries import Retries
from guardtui.scanners.airs import lifecycle, probe
from guardtui.scanners.airs.connectivity import contact
from guardtui.scanners.airs.credentials import AIRS_SETTINGS, REGIONS, AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.models import CustomTopic, SecurityProfile
from guardtui.scanners.airs.policy_paths import guardrails, members, revision_of
from guardtui.scanners.airs.probe import TIMEOUT
from guardtui.scanners.airs.tokens import AccessTokens
from guardtui.scanners.airs.topic_revisions import ServiceRevisions, text_hash
from guardtui.scanners.configuration import AirsConfiguration

_CLOCK_SECONDS = 60.0
_TOPICS_SHOWN = 20


def examine_airs(
    configuration: AirsConfiguration, *, everywhere: bool = False
) -> Iterator[CheckResult]:
    """Check everything that AIRS needs; never fails. One scan is sent, and nothing is changed.

    The key is sent to the address in use only; `everywhere` also to all other regions, if it is
    rejected there.
    """
    try:
        settings = AirsSettings.load(configuration.flags)
    except AirsError as error:
        yield CheckResult("settings", "failed", str(error))
        return
    yield from _settings_facts(settings)
    diagnostics.progress("asking AIRS")
    try:
        yield from signals.run(_service_facts(settings, everywhere))
    finally:
        diagnostics.progress("")


def _settings_facts(settings: AirsSettings) -> Iterator[CheckResult]:
    """Yield the settings, their sources, and missing ones."""
    shown = settings.shown()
    variables = {setting.name: setting.variable for setting in AIRS_SETTINGS}

    def source(name: str) -> str:
        text, origin = shown[name]
        empty = variables[name] in settings.empty
        return f"{text} ({origin})" if text else f"not set{', but empty' if empty else ''}"

    if settings.tenant:
        origin = display_text(f"{settings.tenant} ({settings.tenant_file})")
        yield CheckResult("tenant", "ok", origin)
    elif settings.unselected:
        registered = display_text(", ".join(settings.unselected[:5]))
        told_of = "none of airs-cli is active"
        yield CheckResult(
            "tenant", "warning", told_of, f"give --set tenant=NAME; there are: {registered}"
        )
    has_key = settings.api_key is not None or settings.api_token is not None
    for name, label in (("api_key", "API key"), ("api_token", "bearer token")):
        if shown[name][0]:
            yield CheckResult(label, "ok", source(name))
    if not has_key:
        yield CheckResult("API key", "missing", source("api_key"), "set PANW_AI_SEC_API_KEY")
    names = ("client_id", "client_secret", "tsg_id")
    wanted = any(shown[name][0] for name in names)
    for name in names:
        label = name.replace("_", " ").replace("tsg", "TSG")
        if shown[name][0]:
            yield CheckResult(label, "ok", source(name))
        else:
            remedy = f"set {variables[name]}, for topics to be looked up and changed"
            yield CheckResult(label, "missing" if wanted else "warning", source(name), remedy)
    if shown["profile"][0]:
        yield CheckResult("profile", "ok", source("profile"))
    else:
        remedy = "give --guardrail airs:NAME, or set PANW_AI_SEC_PROFILE_NAME"
        yield CheckResult("profile", "warning", source("profile"), remedy)
    endpoint = settings.scan_endpoint.url
    region = next((name for name, url in REGIONS.items() if url == endpoint), "")
    for name in ("scan_endpoint", "management_endpoint", "token_endpoint"):
        text = source(name)
        if name == "scan_endpoint":
            text += f", region {region}" if region else ", no region's"
        empty = variables[name] in settings.empty
        remedy = f"{variables[name]} is set but empty, which counts as not set" if empty else ""
        yield CheckResult(name.replace("_", " "), "warning" if empty else "ok", text, remedy)


async def _service_facts(settings: AirsSettings, everywhere: bool) -> list[CheckResult]:
    """Yield the answers of the services."""
    facts = [fact async for fact in _contacts(settings)]
    management = [fact async for fact in _management(settings)] if settings.client_id else []
    scans = [fact async for fact in _key(settings, everywhere)]
    return [*facts, *scans, *management]


async def _contacts(settings: AirsSettings) -> AsyncIterator[CheckResult]:
    """Yield whether the addresses answer without credentials, and the offset of their clocks."""
    addresses = [("scans", settings.scan_endpoint)]
    if settings.client_id:
        addresses += [
            ("management", settings.management_endpoint),
            ("tokens", settings.token_endpoint),
        ]
    ahead: float | None = None
    seen: set[str] = set()
    for name, endpoint in addresses:
        authority = endpoint.authority
        if authority in seen:
            continue
        seen.add(authority)
        try:
            reached = await contact(endpoint, timeout=TIMEOUT)
        except ServiceError as error:
            remedy = "check the address, the network, and a proxy in HTTPS_PROXY"
            yield CheckResult(f"reach {name}", "failed", error.message, remedy)
            continue
        yield CheckResult(
            f"reach {name}", "ok", f"{authority} answers in {reached.seconds * 1000:.0f} ms"
        )
        ahead = reached.ahead if ahead is None else ahead
    if ahead is None:
        yield CheckResult("clock", "warning", "no service sent its time")
    elif abs(ahead) > _CLOCK_SECONDS:
        direction = "behind" if ahead > 0 else "ahead"
        remedy = "set the clock: certificates are judged by it"
        yield CheckResult(
            "clock", "warning", f"{abs(ahead):.0f} s {direction} of the service's", remedy
        )
    else:
        yield CheckResult("clock", "ok", "as the service's, within a minute")


async def _key(settings: AirsSettings, everywhere: bool) -> AsyncIterator[CheckResult]:
    """Yield whether the key is accepted, here and, on request, in the other regions."""
    if settings.api_key is None and settings.api_token is None:
        return
    result = await check_airs(settings, everywhere=everywhere)
    yield result
    if not everywhere or result.name != KEY:
        return
    if result.state == "failed":
        async for fact in _regions(settings):
            yield fact
    elif result.state == "ok":
        yield CheckResult("other regions", "ok", "not asked: the key is accepted here")


async def _regions(settings: AirsSettings) -> AsyncIterator[CheckResult]:
    """Yield whether another region accepts the key, which is sent to its host."""
    accepted, unasked = False, False
    for name, url in REGIONS.items():
        endpoint = Endpoint.parse(url)
        if endpoint == settings.scan_endpoint:
            continue
        try:
            await probe.scan_probe(replace(settings, scan_endpoint=endpoint))
        except ServiceError as error:
            # The key was not rejected: the profile does not exist, or there are too many requests.
            if error.status not in (400, 404, 429):
                refused = error.kind is ErrorKind.CREDENTIALS
                unasked = unasked or not refused
                text = "refuses the key" if refused else error.message
                yield CheckResult(f"region {name}", "warning", text)
                continue
        accepted = True
        remedy = f"give --set region={name}, or set PANW_AI_SEC_API_ENDPOINT={url}"
        yield CheckResult(f"region {name}", "ok", "accepts the key: it is of this region", remedy)
    if not accepted:
        text = "no region accepts the key: it is wrong, expired or revoked, or its quota is used up"
        if unasked:
            text = "no region that answered accepts the key; others could not be reached"
        yield CheckResult(
            "other regions", "failed", text, "look at the key in Strata Cloud Manager"
        )


async def _management(settings: AirsSettings) -> AsyncIterator[CheckResult]:
    """Yield whether the service account is accepted, and the content of the profile."""
    try:
        account = settings.management()
    except AirsError:
        return  # missing settings are reported already
    tokens = AccessTokens(account)
    retries = Retries(attempts=2, total=TIMEOUT)
    async with ManagementClient(
        account,
        tokens=tokens,
        retries=retries,
        timeout=TIMEOUT,
        revisions=known_revisions(),
    ) as client:
        try:
            await tokens.get()
        except ServiceError as error:
            yield CheckResult("management login", "failed", error.message)
            return
        yield CheckResult("management login", "ok", "accepted, a token was given")
        try:
            async for fact in _profile(client, settings.profile):
                yield fact
        except ServiceError as error:
            yield CheckResult("management API", "failed", error.message)
        except AirsError as error:
            yield CheckResult("profile there", "failed", str(error))


async def _profile(client: ManagementClient, name: str) -> AsyncIterator[CheckResult]:
    """Yield the profile and its topics. Raises ServiceError, and AirsError if it does not exist."""
    if not name:
        count = len(await client.profiles(latest=True))
        yield CheckResult("profiles", "ok", f"{count} in the tenant")
        return
    row = await lifecycle.newest(client, name)
    text = f"{inert(row.profile_name, characters=60)}, revision {row.revision}"
    if row.active:
        yield CheckResult("profile there", "ok", text)
    else:
        yield CheckResult("profile there", "warning", f"{text}, not active", "activate it")
    for fact in _topics(row, await client.topics(), client.revisions):
        yield fact


def _topics(
    row: SecurityProfile, topics: list[CustomTopic], texts: ServiceRevisions
) -> Iterator[CheckResult]:
    known = {topic.topic_id.lower(): topic for topic in topics}
    facts = []
    for path, item in guardrails(row.policy):
        for action, member in members(item):
            pinned = revision_of(member)
            name = inert(str(member.get("topic_name")), characters=60)
            pin = f"{name}: {inert(action, characters=20)}, revision {pinned} ({path})"
            topic = known.get(str(member.get("topic_id")).lower())
            if topic is None:
                facts.append(CheckResult("topic", "warning", pin, "it is no longer in the tenant"))
                continue
            newest = f"revision {topic.revision}"
            text = texts.text(topic.topic_id, pinned)
            if topic.revision == pinned:
                facts.append(CheckResult("topic", "ok", pin))
            elif text == text_hash(topic):
                facts.append(CheckResult("topic", "ok", f"{pin}: the text of the newest, {newest}"))
            elif text is None:
                unknown = f"the newest is {newest}; AIRS does not show whether its text is another"
                facts.append(CheckResult("topic", "warning", pin, unknown))
            else:
                older = f"the newest text is {newest}, which this profile does not use"
                facts.append(CheckResult("topic", "warning", pin, older))
    if not facts:
        yield CheckResult("topics", "ok", "the profile has none")
    yield from facts[:_TOPICS_SHOWN]
    if len(facts) > _TOPICS_SHOWN:
        yield CheckResult("topics", "ok", f"and {len(facts) - _TOPICS_SHOWN} more")
