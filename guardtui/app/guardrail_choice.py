"""Which guardrail an author chooses: what is configured, what is typed, and what is remembered."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from guardtui.app.remote import ModelOptions, RemoteOptions
from guardtui.domain.errors import GuardtuiError
from guardtui.scanners.airs.credentials import REGIONS, AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.tenants import Registry, registry_path
from guardtui.scanners.decision.options import FORMATS, DecisionOptions
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.session_keys import airs_account, model_account, why_no_keyring

T = TypeVar("T")

SETTING = "guardrail"
"""Name of the choice among a session's settings."""

BEFORE = "chosen for this topic"


class GuardrailError(GuardtuiError):
    """A guardrail cannot be used as it was typed; the message says which field and what to do."""


class Kind(StrEnum):
    """What judges besides the embedded engine."""

    ENGINE = "engine"
    AIRS = "airs"
    JUDGE = "judge"
    DECISION = "decision"


MODELS = frozenset({Kind.JUDGE, Kind.DECISION})
"""Kinds that ask models, by their addresses."""


@dataclass(frozen=True, slots=True)
class GuardrailChoice:
    """A guardrail without its key.

    `region` is a region of AIRS or the URL of its scan endpoint, `models` are written as URL#name
    with blanks between several, `template` is the path of a model's template, "" for the shipped,
    `api` is the format of a decision model.
    """

    kind: Kind
    region: str = ""
    profile: str = ""
    tenant: str = ""
    models: str = ""
    template: str = ""
    api: str = ""


@dataclass(frozen=True, slots=True)
class GuardrailRequest:
    """A choice with the key that was typed ("" for the configured one), and whether to keep it."""

    choice: GuardrailChoice
    key: str = field(default="", repr=False)
    keep: bool = False


@dataclass(frozen=True, slots=True)
class GuardrailOffer:
    """What a dialog begins with: the values, and where each is from, by the field's name.

    `origins` has `airs_key`, `judge_key` and `decision_key` where there is a key. `tenants` are
    those of airs-cli. `problem` is what is wrong with the configuration, `no_keyring` why keys
    cannot be kept; each "" for nothing.
    """

    choice: GuardrailChoice
    origins: Mapping[str, str]
    tenants: tuple[str, ...] = ()
    problem: str = ""
    no_keyring: str = ""


def read_choice(value: Any) -> GuardrailChoice | None:
    """Return the choice that a session's setting holds; None where there is none."""
    if not isinstance(value, dict):
        return None
    known = {name: text for name, text in value.items() if isinstance(text, str)}
    try:
        kind = Kind(known.pop("kind", ""))
        return GuardrailChoice(kind, **known)
    except (TypeError, ValueError):
        return None


def write_choice(choice: GuardrailChoice) -> dict[str, Any]:
    """Return a choice as a session's settings have it: without addresses that may hold a secret."""
    if choice.region not in REGIONS:
        choice = replace(choice, region="")
    if "?" in choice.models:
        choice = replace(choice, models="")
    return {SETTING: asdict(choice)}


def offer_of(
    options: RemoteOptions,
    remembered: GuardrailChoice | None,
    in_use: Kind | None,
    flags: Collection[str] = (),
) -> GuardrailOffer:
    """Return what is configured, with its origins. Blocks: it reads files and the keyring.

    What flags, variables and files say comes before what is `remembered`. `flags` names those of
    the command line; others among the options were chosen since.
    """
    remembered = remembered or GuardrailChoice(in_use or Kind.AIRS)
    origins: dict[str, str] = {}
    problem = ""
    tenants: tuple[str, ...] = ()
    choice = replace(remembered, kind=in_use or remembered.kind)
    try:
        settings = options.configured()
        choice = _with_airs(choice, settings, origins)
        for name in ("region", "profile"):
            if origins.get(name, "").startswith("--"):
                origins[name] = f"--{name}" if name in flags else BEFORE
        tenants = _tenants(options)
        if settings.api_key is not None or settings.api_token is not None:
            name = "api_key" if settings.api_key is not None else "api_token"
            origins["airs_key"] = settings.origins.get(name, "")
        else:
            account = airs_account(settings)
            origins["airs_key"] = options.keys.with_keyring(account).origin(account)
    except AirsError as error:
        problem = str(error)
    choice = _with_models(choice, options, origins)
    for name in ("region", "profile", "tenant", "models", "template", "api"):
        if getattr(choice, name):
            origins.setdefault(name, BEFORE)
    return GuardrailOffer(choice, origins, tenants, problem, why_no_keyring())


def _with_airs(
    choice: GuardrailChoice, settings: AirsSettings, origins: dict[str, str]
) -> GuardrailChoice:
    place = settings.scan_endpoint.url
    place = next((name for name, url in REGIONS.items() if url == place), place)
    given = settings.origins.get("scan_endpoint", "default")
    if given != "default" or choice.region in ("", place):
        choice = replace(choice, region=place)
        origins["region"] = given
    if settings.profile:
        choice = replace(choice, profile=settings.profile)
        origins["profile"] = settings.origins.get("profile", "")
    if settings.tenant:
        choice = replace(choice, tenant=settings.tenant)
        origins["tenant"] = "airs-cli"
    return choice


def _tenants(options: RemoteOptions) -> tuple[str, ...]:
    if options.config is not None:
        return ()
    path = registry_path(options.variables)
    return () if path is None else Registry.load(path).names


def _with_models(
    choice: GuardrailChoice, options: RemoteOptions, origins: dict[str, str]
) -> GuardrailChoice:
    known = options.model
    models = _in_use(options)
    kind = choice.kind if choice.kind in MODELS else Kind.JUDGE
    if known is not None:
        kind = Kind(known.scanner_name)
        names = " ".join(model.full for model in models)
        choice = replace(choice, models=names, template=_source(known))
        origins["models"] = origins["template"] = "in use"
        if options.decision is not None:
            choice = replace(choice, api=options.decision.api.value)
    elif choice.models:
        with contextlib.suppress(GuardtuiError):  # said when it is used
            models, options = _models(choice.models, options)
    for model in models:
        if model.key is not None:
            source = model.key_variable or options.keys.origin(model_account(model))
            origins.setdefault(f"{kind}_key", source or "in use")
    return choice


def _in_use(options: RemoteOptions) -> tuple[ModelAddress, ...]:
    """Return the models among the options that scans use."""
    if options.decision is not None:
        return (options.decision.model,)
    return () if options.judge is None else options.judge.models


def with_choice(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    """Return the options with the guardrail that is asked for. Blocks: files and the keyring.

    Models stay among the options where AIRS is chosen: they may be asked instead. Raises
    GuardrailError, AirsError, ScannerError and AddressError naming what is wrong.
    """
    choice = request.choice
    if choice.kind is Kind.JUDGE:
        return _with_judge_of(_with_model_key(options, request), choice)
    if choice.kind is Kind.DECISION:
        return _with_decision_of(_with_model_key(options, request), choice)
    return options if choice.kind is Kind.ENGINE else _with_account(options, request)


def _with_account(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    choice = request.choice
    if choice.tenant != options.configured().tenant:
        options = replace(options, flags={**options.flags, "tenant": choice.tenant})
    settings, flags = options.configured(), dict(options.flags)
    place = REGIONS.get(choice.region.lower(), choice.region)
    if place and place.rstrip("/") != settings.scan_endpoint.url:
        for name in ("region", "scan_endpoint"):
            flags.pop(name, None)
        # A word that was mistyped must not become a host that gets the key.
        flags["scan_endpoint" if "." in place or ":" in place else "region"] = place
    if choice.profile != settings.profile:
        flags["profile"] = choice.profile
    options = _with_key(replace(options, flags=flags), request.key)
    settings = options.settings()
    if not settings.profile and not settings.client_id:
        raise GuardrailError("Profile: write the name of a security profile of AIRS")
    return options


def _with_key(options: RemoteOptions, typed: str) -> RemoteOptions:
    """Add the key of AIRS that was typed for this address, else the keyring's where none is set."""
    settings = options.configured()
    account = airs_account(settings)
    if typed:
        return replace(options, keys=options.keys.with_typed(account, typed))
    if settings.api_key is None and settings.api_token is None:
        return replace(options, keys=options.keys.with_keyring(account))
    return options


def _with_model_key(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    """Add the key that was typed for the models."""
    if not request.key:
        return options
    allow_http = options.model is not None and options.model.allow_http
    models = ModelAddress.parse_all(request.choice.models.split(), {}, allow_http=allow_http)
    accounts = set(map(model_account, models))
    if len(accounts) > 1:
        raise GuardrailError(
            "Key: one key is for one address, and these models are at several\n"
            "  name the variable of each in GUARDTUI_MODEL_KEYS before you start guardtui"
        )
    keys = options.keys
    for account in accounts:
        keys = keys.with_typed(account, request.key)
    return replace(options, keys=keys)


def _with_judge_of(options: RemoteOptions, choice: GuardrailChoice) -> RemoteOptions:
    from guardtui.scanners.judge.template import load_template

    judge = options.judge or JudgeOptions(())
    models, options = _models(choice.models, options)
    judge = replace(judge, models=models)
    if choice.template != _source(judge):
        judge = replace(judge, template=_template(choice, load_template, "judge-template"))
    judge.scanner()  # says what is wrong with the whole
    return replace(options, judge=judge, decision=None)


def _with_decision_of(options: RemoteOptions, choice: GuardrailChoice) -> RemoteOptions:
    from guardtui.scanners.decision.template import load_template

    models, options = _models(choice.models, options)
    if len(models) > 1:
        raise GuardrailError("Model: one decision model answers; write one URL#name")
    known = options.decision or DecisionOptions(models[0])
    decision = replace(known, model=models[0])
    if choice.api in FORMATS:
        decision = decision.with_format(choice.api)
    if choice.template != _source(decision):
        decision = replace(decision, template=_template(choice, load_template, "decision-template"))
    decision.scanner()  # says what is wrong with the whole
    return replace(options, decision=decision)


def _source(known: ModelOptions) -> str:
    """Return the path of the template in use, "" for the shipped one."""
    return "" if known.template is None else known.template.source


def _template(choice: GuardrailChoice, load: Callable[[Path], T], command: str) -> T | None:
    """Return the template that was chosen, None for the shipped one; `command` prints that."""
    from guardtui.scanners.template_file import TemplateError

    try:
        return load(Path(choice.template).expanduser()) if choice.template else None
    except TemplateError as error:
        raise GuardrailError(f"{error}\n  'guardtui {command}' prints one to start from") from error


def _models(text: str, options: RemoteOptions) -> tuple[tuple[ModelAddress, ...], RemoteOptions]:
    """Return the models with their keys, and the options with those of the keyring among them.

    A key that was typed comes first, then those of variables, those in use, and the keyring's.
    Raises GuardrailError, AddressError and ModelKeyError.
    """
    texts = text.split()
    if not texts:
        raise GuardrailError("Model: write URL#name, for example http://localhost:11434/v1#qwen3")
    allow_http = options.model is not None and options.model.allow_http
    models = ModelAddress.parse_all(texts, {}, allow_http=allow_http)
    keys = options.keys
    if not all(map(keys.origin, map(model_account, models))):
        models = ModelAddress.parse_all(texts, options.variables, allow_http=allow_http)
    used = {model_account(model): model for model in _in_use(options) if model.key is not None}
    for index, model in enumerate(models):
        account = model_account(model)
        if model.key is not None or keys.origin(account):
            continue
        if account in used:
            known = used[account]
            models[index] = replace(model, key=known.key, key_variable=known.key_variable)
        else:
            keys = keys.with_keyring(account)
    return keys.for_models(models), replace(options, keys=keys)


def accounts_of(options: RemoteOptions, kind: Kind) -> list[str]:
    """Return the names under which the key of a guardrail is kept in the keyring."""
    if kind in MODELS:
        return list(dict.fromkeys(map(model_account, _in_use(options))))
    return [airs_account(options.configured())] if kind is Kind.AIRS else []
