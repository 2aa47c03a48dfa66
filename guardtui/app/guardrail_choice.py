"""The choice of a guardrail: configured, typed and remembered values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from guardtui.app.remote import ModelOptions, RemoteOptions
from guardtui.domain.errors import GuardtuiError
from guardtui.scanners.airs.credentials import REGIONS, AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.tenants import TenantRegistry, registry_path
from guardtui.scanners.decision.options import FORMATS, DecisionOptions
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.model_address import ModelAddress, without_shared_key
from guardtui.scanners.session_keys import airs_account, model_account, why_no_keyring

T = TypeVar("T")

SETTING = "guardrail"
"""Name of the choice among a session's settings."""

BEFORE = "chosen for this topic"


class GuardrailError(GuardtuiError):
    """Typed values of a guardrail are invalid; the message names the field and the remedy."""


class GuardrailKind(StrEnum):
    """Kinds of guardrails."""

    ENGINE = "engine"
    AIRS = "airs"
    JUDGE = "judge"
    DECISION = "decision"


MODELS = frozenset({GuardrailKind.JUDGE, GuardrailKind.DECISION})
"""Kinds that call models at addresses."""


@dataclass(frozen=True, slots=True)
class GuardrailChoice:
    """A guardrail without its key.

    `region` is a region of AIRS or the URL of its scan endpoint. `models` are written as URL#name,
    separated by blanks. `template` is the path of a model's template, "" for the shipped one. `api`
    is the format of a decision model.
    """

    kind: GuardrailKind
    region: str = ""
    profile: str = ""
    tenant: str = ""
    models: str = ""
    template: str = ""
    api: str = ""


@dataclass(frozen=True, slots=True)
class GuardrailRequest:
    """A choice with the typed key ("" for the configured one), and whether to store it."""

    choice: GuardrailChoice
    key: str = field(default="", repr=False)
    keep: bool = False


@dataclass(frozen=True, slots=True)
class GuardrailOffer:
    """Initial values of the dialog, and the origin of each, by field name.

    `origins` has `airs_key`, `judge_key` and `decision_key` if there is a key. `tenants` are those
    of airs-cli. `problem` is an error in the configuration, `no_keyring` why keys cannot be stored;
    each may be "".
    """

    choice: GuardrailChoice
    origins: Mapping[str, str]
    tenants: tuple[str, ...] = ()
    problem: str = ""
    no_keyring: str = ""


def read_choice(value: Any) -> GuardrailChoice | None:
    """Return the choice in a session's setting, or None."""
    if not isinstance(value, dict):
        return None
    fields = {name: text for name, text in value.items() if isinstance(text, str)}
    try:
        kind = GuardrailKind(fields.pop("kind", ""))
        return GuardrailChoice(kind, **fields)
    except (TypeError, ValueError):
        return None


def write_choice(choice: GuardrailChoice) -> dict[str, Any]:
    """Return a choice for a session's settings, without addresses that may contain a secret."""
    if choice.region not in REGIONS:
        choice = replace(choice, region="")
    if "?" in choice.models:
        choice = replace(choice, models="")
    return {SETTING: asdict(choice)}


def offer_of(
    options: RemoteOptions,
    remembered: GuardrailChoice | None,
    in_use: GuardrailKind | None,
    flags: Collection[str] = (),
) -> GuardrailOffer:
    """Return the configured values with their origins; blocks (files and the keyring).

    Flags, variables and files take precedence over `remembered`. `flags` names the options from the
    command line; other options were chosen later.
    """
    remembered = remembered or GuardrailChoice(in_use or GuardrailKind.AIRS)
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
    region = settings.scan_endpoint.url
    region = next((name for name, url in REGIONS.items() if url == region), region)
    origin = settings.origins.get("scan_endpoint", "default")
    if origin != "default" or choice.region in ("", region):
        choice = replace(choice, region=region)
        origins["region"] = origin
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
    return () if path is None else TenantRegistry.load(path).names


def _with_models(
    choice: GuardrailChoice, options: RemoteOptions, origins: dict[str, str]
) -> GuardrailChoice:
    known = options.model
    models = _in_use(options)
    kind = choice.kind if choice.kind in MODELS else GuardrailKind.JUDGE
    if known is not None:
        kind = GuardrailKind(known.scanner_name)
        names = " ".join(model.full for model in models)
        choice = replace(choice, models=names, template=_source(known))
        origins["models"] = origins["template"] = "in use"
        if options.decision is not None:
            choice = replace(choice, api=options.decision.api.value)
    elif choice.models:
        with contextlib.suppress(GuardtuiError):  # reported when it is used
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


def _writing(options: RemoteOptions) -> tuple[ModelAddress, ...]:
    """Return the model that was named to write wordings."""
    return () if options.writer is None else options.writer.models[:1]


def with_choice(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    """Return the options with the chosen guardrail; blocks (files and the keyring).

    Models stay among the options if AIRS is chosen, so that scans can switch to them. Raises
    GuardrailError, AirsError, ScannerError and AddressError.
    """
    choice = request.choice
    if choice.kind is GuardrailKind.JUDGE:
        return _with_judge_of(_with_model_key(options, request), choice)
    if choice.kind is GuardrailKind.DECISION:
        return _with_decision_of(_with_model_key(options, request), choice)
    return options if choice.kind is GuardrailKind.ENGINE else _with_account(options, request)


def _with_account(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    choice = request.choice
    if choice.tenant != options.configured().tenant:
        options = replace(options, flags={**options.flags, "tenant": choice.tenant})
    settings, flags = options.configured(), dict(options.flags)
    region = REGIONS.get(choice.region.lower(), choice.region)
    if region and region.rstrip("/") != settings.scan_endpoint.url:
        for name in ("region", "scan_endpoint"):
            flags.pop(name, None)
        # A mistyped word must not become a host that receives the key.
        flags["scan_endpoint" if "." in region or ":" in region else "region"] = region
    if choice.profile != settings.profile:
        flags["profile"] = choice.profile
    options = _with_key(replace(options, flags=flags), request.key)
    settings = options.settings()
    if not settings.profile and not settings.client_id:
        raise GuardrailError("Profile: write the name of a security profile of AIRS")
    return options


def _with_key(options: RemoteOptions, typed: str) -> RemoteOptions:
    """Add the key of AIRS: the typed one, or the keyring's if none is set."""
    settings = options.configured()
    account = airs_account(settings)
    if typed:
        return replace(options, keys=options.keys.with_typed(account, typed))
    if settings.api_key is None and settings.api_token is None:
        return replace(options, keys=options.keys.with_keyring(account))
    return options


def _with_model_key(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    """Add the typed key of the models."""
    if not request.key:
        return options
    texts = request.choice.models.split()
    models = ModelAddress.parse_all(texts, {}, allow_http=options.allow_http)
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
    models, options = _models(choice.models, options, _with_shared_key(options))
    judge = replace(judge, models=models)
    if choice.template != _source(judge):
        judge = replace(judge, template=_template(choice, load_template, "judge-template"))
    judge.scanner()  # the scan reports the error
    return replace(options, judge=judge, decision=None)


def _with_decision_of(options: RemoteOptions, choice: GuardrailChoice) -> RemoteOptions:
    from guardtui.scanners.decision.template import load_template

    models, options = _models(choice.models, options, _with_shared_key(options))
    if len(models) > 1:
        raise GuardrailError("Model: one decision model answers; write one URL#name")
    known = options.decision or DecisionOptions(models[0])
    decision = replace(known, model=models[0])
    if choice.api in FORMATS:
        decision = decision.with_format(choice.api)
    if choice.template != _source(decision):
        decision = replace(decision, template=_template(choice, load_template, "decision-template"))
    decision.scanner()  # the scan reports the error
    return replace(options, decision=decision)


def with_writer(options: RemoteOptions, text: str, key: str = "") -> RemoteOptions:
    """Return the options with the model URL#name as the writer, and a typed key ("" without one).

    Blocks, since it reads the keyring. Raises GuardrailError, AddressError, KeyTextError and
    ModelKeyError.
    """
    known = options.wording_model
    if known is not None and not key and text == known.models[0].full:
        return options
    if len(text.split()) > 1:
        raise GuardrailError("Writer: one model writes; write one URL#name")
    if key:
        (model,) = ModelAddress.parse_all([text], {}, allow_http=options.allow_http)
        options = replace(options, keys=options.keys.with_typed(model_account(model), key))
    models, options = _models(text, options, _in_use(options))
    writer = options.writer or JudgeOptions((), allow_http=options.allow_http)
    return replace(options, writer=replace(writer, models=models))


def _with_shared_key(options: RemoteOptions) -> tuple[ModelAddress, ...]:
    """Return the writer if its key is from the variable for models at a single address."""
    return tuple(model for model in _writing(options) if model.has_shared_key)


def _source(known: ModelOptions) -> str:
    """Return the path of the template in use, "" for the shipped one."""
    return "" if known.template is None else known.template.source


def _template(choice: GuardrailChoice, load: Callable[[Path], T], command: str) -> T | None:
    """Return the chosen template, None for the shipped one, which `command` prints."""
    from guardtui.scanners.template_file import TemplateError

    try:
        return load(Path(choice.template).expanduser()) if choice.template else None
    except TemplateError as error:
        raise GuardrailError(f"{error}\n  'guardtui {command}' prints one to start from") from error


def _models(
    text: str, options: RemoteOptions, others: Sequence[ModelAddress] = ()
) -> tuple[tuple[ModelAddress, ...], RemoteOptions]:
    """Return the models with their keys, and the options with the keyring's keys added.

    Precedence of keys: typed, variables, in use, keyring. `others` stay in use: the variable for
    models at a single address is for them if they are at another one. Raises GuardrailError,
    AddressError and ModelKeyError.
    """
    texts = text.split()
    if not texts:
        raise GuardrailError("Model: write URL#name, for example http://localhost:11434/v1#qwen3")
    allow_http = options.allow_http
    models = ModelAddress.parse_all(texts, {}, allow_http=allow_http)
    keys = options.keys
    if not all(map(keys.origin, map(model_account, models))):
        variables = options.variables
        if {model_account(model) for model in others} - set(map(model_account, models)):
            variables = without_shared_key(variables)
        models = ModelAddress.parse_all(texts, variables, allow_http=allow_http)
    in_use = (*_in_use(options), *_writing(options))
    used = {model_account(model): model for model in in_use if model.key is not None}
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


def accounts_of(options: RemoteOptions, kind: GuardrailKind) -> list[str]:
    """Return the names of a guardrail's keys in the keyring."""
    if kind in MODELS:
        return list(dict.fromkeys(map(model_account, _in_use(options))))
    return [airs_account(options.configured())] if kind is GuardrailKind.AIRS else []
