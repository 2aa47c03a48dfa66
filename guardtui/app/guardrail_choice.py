"""Which guardrail an author chooses: what is configured, what is typed, and what is remembered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from guardtui.app.remote import RemoteOptions
from guardtui.domain.errors import GuardtuiError
from guardtui.http.errors import inert
from guardtui.http.secret import Secret
from guardtui.http.system_keyring import find_key, why_no_keyring
from guardtui.scanners.airs.credentials import REGIONS, AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.tenants import Registry, registry_path
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.judge.scanner import ModelAddress

SETTING = "guardrail"
"""Name of the choice among a session's settings."""

BEFORE = "chosen for this topic"
KEYRING = "keyring of the system"
TYPED = "typed in here, until you quit"


class GuardrailError(GuardtuiError):
    """A guardrail cannot be used as it was typed; the message says which field and what to do."""


class Kind(StrEnum):
    """What judges besides the embedded engine."""

    ENGINE = "engine"
    AIRS = "airs"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class GuardrailChoice:
    """A guardrail without its key.

    `region` is a region of AIRS or the URL of its scan endpoint, `models` are written as URL#name
    with blanks between several, `template` is the path of a judge's template, "" for the shipped.
    """

    kind: Kind
    region: str = ""
    profile: str = ""
    tenant: str = ""
    models: str = ""
    template: str = ""


@dataclass(frozen=True, slots=True)
class GuardrailRequest:
    """A choice with the key that was typed ("" for the configured one), and whether to keep it."""

    choice: GuardrailChoice
    key: str = field(default="", repr=False)
    keep: bool = False


@dataclass(frozen=True, slots=True)
class GuardrailOffer:
    """What a dialog begins with: the values, and where each is from, by the field's name.

    `origins` has `airs_key` and `judge_key` where there is a key. `tenants` are those of airs-cli.
    `problem` is what is wrong with the configuration, `no_keyring` why keys cannot be kept; each ""
    for nothing.
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
        elif _airs_account(settings) in options.typed_keys:
            origins["airs_key"] = TYPED
        elif find_key(_airs_account(settings)) is not None:
            origins["airs_key"] = KEYRING
    except AirsError as error:
        problem = str(error)
    choice = _with_judge(choice, options, origins)
    for name in ("region", "profile", "tenant", "models", "template"):
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


def _with_judge(
    choice: GuardrailChoice, options: RemoteOptions, origins: dict[str, str]
) -> GuardrailChoice:
    judge = options.judge
    if judge is not None:
        source = judge.template.source if judge.template is not None else ""
        choice = replace(
            choice, models=" ".join(model.full for model in judge.models), template=source
        )
        origins["models"] = origins["template"] = "in use"
        key = next((model for model in judge.models if model.key is not None), None)
        if key is not None:
            origins["judge_key"] = _key_origin(key, options)
    elif choice.models:
        try:
            models = _models(choice.models, options)
        except GuardtuiError:  # said when it is used
            return choice
        key = next((model for model in models if model.key is not None), None)
        if key is not None:
            origins["judge_key"] = _key_origin(key, options)
    return choice


def _key_origin(model: ModelAddress, options: RemoteOptions) -> str:
    typed = model.key is not None and options.typed_keys.get(_model_account(model)) == model.key
    return model.key_variable or (TYPED if typed else KEYRING)


def with_choice(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    """Return the options with the guardrail that is asked for. Blocks: files and the keyring.

    A judge stays among the options where AIRS is chosen: it may be asked instead. Raises
    GuardrailError, AirsError, ScannerError and AddressError naming what is wrong.
    """
    choice = request.choice
    if choice.kind is Kind.JUDGE:
        options = _with_model_key(options, request)
        return replace(options, judge=_judge(options, choice))
    return options if choice.kind is Kind.ENGINE else _with_account(options, request)


def _with_account(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    choice = request.choice
    options = replace(options, api_key=None)
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
    """Add the key of AIRS that was typed for this address, now or before, else the keyring's."""
    settings = options.configured()
    account = _airs_account(settings)
    if typed:
        options = replace(options, typed_keys={**options.typed_keys, account: _secret(typed)})
    key = options.typed_keys.get(account)
    if key is not None:
        return replace(options, api_key=key, key_origin=TYPED)
    if settings.api_key is None and settings.api_token is None:
        return replace(options, api_key=find_key(account), key_origin=KEYRING)
    return options


def _with_model_key(options: RemoteOptions, request: GuardrailRequest) -> RemoteOptions:
    """Add the key that was typed for the models."""
    if not request.key:
        return options
    allow_http = options.judge is not None and options.judge.allow_http
    models = ModelAddress.parse_all(request.choice.models.split(), {}, allow_http=allow_http)
    accounts = set(map(_model_account, models))
    if len(accounts) > 1:
        raise GuardrailError(
            "Key: one key is for one address, and these models are at several\n"
            "  name the variable of each in GUARDTUI_MODEL_KEYS before you start guardtui"
        )
    typed = dict.fromkeys(accounts, _secret(request.key))
    return replace(options, typed_keys={**options.typed_keys, **typed})


def _judge(options: RemoteOptions, choice: GuardrailChoice) -> JudgeOptions:
    from guardtui.scanners.judge.template import TemplateError, load_template

    known = options.judge
    judge = known or JudgeOptions(())
    judge = replace(judge, models=_models(choice.models, options))
    before = known.template.source if known is not None and known.template is not None else ""
    if choice.template != before:
        try:
            path = Path(choice.template).expanduser()
            template = load_template(path) if choice.template else None
        except TemplateError as error:
            raise GuardrailError(
                f"{error}\n  'guardtui judge-template' prints one to start from"
            ) from error
        judge = replace(judge, template=template)
    judge.scanner()  # says what is wrong with the whole
    return judge


def _models(text: str, options: RemoteOptions) -> tuple[ModelAddress, ...]:
    """Return the models with their keys: those that were typed, else variables, else the keyring.

    Raises GuardrailError and AddressError.
    """
    from guardtui.http.model_keys import ModelKeyError

    texts = text.split()
    if not texts:
        raise GuardrailError("Model: write URL#name, for example http://localhost:11434/v1#qwen3")
    allow_http = options.judge is not None and options.judge.allow_http
    models = ModelAddress.parse_all(texts, {}, allow_http=allow_http)
    typed = [options.typed_keys.get(_model_account(model)) for model in models]
    if None in typed:
        try:
            models = ModelAddress.parse_all(texts, options.variables, allow_http=allow_http)
        except ModelKeyError as error:
            raise GuardrailError(str(error)) from error
    used = () if options.judge is None else options.judge.models
    known = {_model_account(model): model for model in used if model.key is not None}
    return tuple(
        model if key is None and model.key is not None else _with_own_key(model, key, known)
        for model, key in zip(models, typed, strict=True)
    )


def _with_own_key(
    model: ModelAddress, typed: Secret | None, known: Mapping[str, ModelAddress]
) -> ModelAddress:
    account = _model_account(model)
    if typed is None and account in known:
        used = known[account]
        return replace(model, key=used.key, key_variable=used.key_variable)
    return replace(model, key=typed or find_key(account), key_variable="")


def accounts_of(options: RemoteOptions, kind: Kind) -> list[str]:
    """Return the names under which the key of a guardrail is kept in the keyring."""
    if kind is Kind.JUDGE and options.judge is not None:
        return list(dict.fromkeys(map(_model_account, options.judge.models)))
    return [_airs_account(options.configured())] if kind is Kind.AIRS else []


def _airs_account(settings: AirsSettings) -> str:
    tenant = f" tenant {inert(settings.tenant)}" if settings.tenant else ""
    return f"AIRS at {settings.scan_endpoint.origin}{tenant}"


def _model_account(model: ModelAddress) -> str:
    from guardtui.http.model_keys import origin_of

    return f"model at {origin_of(model.url)}"


def _secret(text: str) -> Secret:
    try:
        return Secret(text)
    except ValueError as error:
        raise GuardrailError(f"Key: {error}") from None
