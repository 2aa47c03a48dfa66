"""The options of a chosen guardrail, its keys, and what a session remembers of the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from guardtui.app.guardrails.named import (
    ENGINE,
    GuardrailError,
    NamedGuardrail,
    find_guardrail,
    load_guardrails,
)
from guardtui.app.guardrails.remote import AIRS, JUDGE, ModelOptions, RemoteOptions
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.guardrail import DECISION, Guardrail
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.tenants import TenantRegistry, registry_path
from guardtui.scanners.configuration import (
    AirsConfiguration,
    ConfigurationError,
    DecisionConfiguration,
    JudgeConfiguration,
    configure,
    keys_of,
    secret_in,
)
from guardtui.scanners.models.address import ModelAddress, without_shared_key
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.judge_answers import FormError
from guardtui.scanners.models.judge_calls import OptionError
from guardtui.scanners.models.templates import TemplateError
from guardtui.scanners.session_keys import airs_account, model_account, why_no_keyring

SETTING = "guardrail"
"""Name of the choice among a session's settings."""

BEFORE = "chosen for this topic"

MODELS = frozenset({JUDGE, DECISION})
"""Kinds that call models at addresses."""


@dataclass(frozen=True, slots=True)
class GuardrailRequest:
    """A guardrail with the typed key ("" for the configured one), and whether to store the key.

    `save` writes the guardrail to its file, by default the settings.
    """

    guardrail: NamedGuardrail
    key: str = field(default="", repr=False)
    keep: bool = False
    save: bool = False


@dataclass(frozen=True, slots=True)
class GuardrailOffer:
    """The guardrails that can be chosen, and which one is, by its index.

    `tenants` are those of airs-cli. `problem` is an error in the configuration, `no_keyring` why
    keys cannot be stored; each may be "".
    """

    guardrails: tuple[NamedGuardrail, ...]
    chosen: int
    tenants: tuple[str, ...] = ()
    problem: str = ""
    no_keyring: str = ""


# --- remembered for a topic ---------------------------------------------------------------


def read_choice(value: Any, topic: Path) -> NamedGuardrail | None:
    """Return the guardrail in a session's setting, or None.

    Raises GuardrailError for a name that is no longer configured, and `ConfigError`.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(name := value.get("name"), str) and name:
        return find_guardrail(name, topic)
    kind = value.get("kind")
    # Sessions of version 0.1 name the models differently, and have all fields of all kinds.
    values = {**value, "model": value.get("model") or value.get("models")}
    try:
        known = {key.name for key in keys_of(str(kind))}
        return NamedGuardrail(
            "", configure(str(kind), {key: values[key] for key in known & {*values} if values[key]})
        )
    except (KeyError, ConfigurationError):
        return None


def write_choice(guardrail: NamedGuardrail) -> dict[str, Any]:
    """Return a guardrail for a session's settings, without addresses that may contain a secret."""
    if guardrail.name:
        return {SETTING: {"name": guardrail.name}}
    values = guardrail.configuration.given()
    if "?" in str(values.get("model")) or secret_in(values):
        values.pop("model")
    values.pop("scan-endpoint", None)
    return {SETTING: {"kind": guardrail.kind, **values}}


# --- what can be chosen -------------------------------------------------------------------


def offer_of(
    options: RemoteOptions,
    topic: Path,
    in_use: NamedGuardrail | None,
    remembered: NamedGuardrail | None,
) -> GuardrailOffer:
    """Return the guardrails to choose from: engine and AIRS, those of the topic, the named ones.

    Blocks (files).
    """
    chosen = in_use or remembered or NamedGuardrail("", configure(AIRS, {}))
    known, problem = [ENGINE, NamedGuardrail("", configure(AIRS, {}))], ""
    try:
        known += [each for each in load_guardrails(topic) if not each.shadowed]
    except GuardtuiError as error:
        problem = str(error)
    for guardrail in (remembered, chosen):
        if guardrail is not None and guardrail not in known:
            known.insert(1, guardrail)
    tenants: tuple[str, ...] = ()
    try:
        options.configured()
        tenants = _tenants(options)
    except AirsError as error:
        problem = problem or str(error)
    return GuardrailOffer(tuple(known), known.index(chosen), tenants, problem, why_no_keyring())


def _tenants(options: RemoteOptions) -> tuple[str, ...]:
    if options.config is not None:
        return ()
    path = registry_path(options.variables)
    return () if path is None else TenantRegistry.load(path).names


def key_origin(options: RemoteOptions, guardrail: NamedGuardrail) -> str:
    """Return where the key of a guardrail comes from, or ""; blocks (files and the keyring)."""
    configuration = guardrail.configuration
    try:
        if isinstance(configuration, AirsConfiguration):
            return _airs_key_origin(replace(options, airs=configuration))
        if isinstance(configuration, JudgeConfiguration | DecisionConfiguration):
            models, options = _models(configuration.model, options, allow_http=True)
            for model in models:
                if model.key is not None:
                    return options.keys.origin(model_account(model)) or model.key_variable
    except GuardtuiError:  # reported when it is used
        pass
    return ""


def _airs_key_origin(options: RemoteOptions) -> str:
    settings = options.configured()
    for name in ("api_key", "api_token"):
        if getattr(settings, name) is not None:
            return settings.origins.get(name, "")
    account = airs_account(settings)
    return options.keys.with_keyring(account).origin(account)


def accounts_of(options: RemoteOptions, kind: str) -> list[str]:
    """Return the names of a guardrail's keys in the keyring."""
    if kind in MODELS:
        return list(dict.fromkeys(map(model_account, _in_use(options))))
    return [airs_account(options.configured())] if kind == AIRS else []


# --- its options --------------------------------------------------------------------------


def with_guardrail(
    options: RemoteOptions, guardrail: NamedGuardrail, key: str = ""
) -> RemoteOptions:
    """Return the options with a guardrail and a typed key; blocks (files and the keyring).

    Models stay among the options if AIRS is chosen, so that scans can switch to them. Raises
    GuardrailError, AirsError, ScannerError and AddressError.
    """
    configuration = guardrail.configuration
    if isinstance(configuration, AirsConfiguration):
        return _with_account(replace(options, airs=configuration), key)
    if isinstance(configuration, JudgeConfiguration | DecisionConfiguration):
        return _with_model(options, configuration, key)
    return options


def identity_of(guardrail: NamedGuardrail) -> Guardrail:
    """Return a guardrail as its verdicts are recorded, without its key; blocks (files).

    Raises AirsError without a profile, GuardrailError and AddressError.
    """
    configuration = guardrail.configuration
    if isinstance(configuration, JudgeConfiguration | DecisionConfiguration):
        models = ModelAddress.parse_all(
            configuration.model, {}, allow_http=configuration.allow_http
        )
        known = model_options(configuration, models).scanner().settings.guardrail
    elif isinstance(configuration, AirsConfiguration):
        settings = RemoteOptions(airs=configuration).configured()
        known = replace(settings, profile=settings.required_profile).guardrail
    else:
        known = guardrail.guardrail
    return replace(known, title=guardrail.name)


def _with_account(options: RemoteOptions, typed: str) -> RemoteOptions:
    """Add the key of AIRS: the typed one, or the keyring's if none is set."""
    settings = options.configured()
    account = airs_account(settings)
    if typed:
        options = replace(options, keys=options.keys.with_typed(account, typed))
    elif settings.api_key is None and settings.api_token is None:
        options = replace(options, keys=options.keys.with_keyring(account))
    settings = options.settings()
    if not settings.profile and not settings.client_id:
        raise GuardrailError("profile: write the name of a security profile of AIRS")
    return options


def _with_model(
    options: RemoteOptions, configuration: JudgeConfiguration | DecisionConfiguration, key: str
) -> RemoteOptions:
    """Use a judge or decision model; a judge before it still writes wordings."""
    options = _with_model_key(options, configuration, key)
    models, options = _models(
        configuration.model,
        options,
        _with_shared_key(options),
        allow_http=configuration.allow_http,
    )
    model = model_options(configuration, models)
    writer = None if isinstance(model, JudgeOptions) else options.wording_model
    return replace(options, model=model, writer=options.writer or writer)


def model_options(
    configuration: JudgeConfiguration | DecisionConfiguration, models: Sequence[ModelAddress]
) -> ModelOptions:
    """Return the judge or decision model of a configuration, with its models and their keys.

    Raises GuardrailError.
    """
    try:
        if isinstance(configuration, JudgeConfiguration):
            return JudgeOptions.of(configuration, models)
        return DecisionOptions.of(configuration, models[0])
    except TemplateError as error:
        command = f"guardtui guardrails template {configuration.kind}"
        raise GuardrailError(f"{error}\n  '{command}' prints one to start from") from error
    except FormError as error:
        raise GuardrailError(f"form: {error}") from error
    except OptionError as error:
        raise GuardrailError(f"model-option: {error}") from error


def _with_model_key(
    options: RemoteOptions, configuration: JudgeConfiguration | DecisionConfiguration, key: str
) -> RemoteOptions:
    """Add the typed key of the models."""
    if not key:
        return options
    models = ModelAddress.parse_all(configuration.model, {}, allow_http=configuration.allow_http)
    accounts = set(map(model_account, models))
    if len(accounts) > 1:
        raise GuardrailError(
            "Key: one key is for one address, and these models are at several\n"
            "  name the variable of each in GUARDTUI_MODEL_KEYS before you start guardtui"
        )
    keys = options.keys
    for account in accounts:
        keys = keys.with_typed(account, key)
    return replace(options, keys=keys)


def with_writer(options: RemoteOptions, text: str, key: str = "") -> RemoteOptions:
    """Return the options with the model URL#name as the writer, and a typed key ("" without one).

    Blocks, since it reads the keyring. Raises GuardrailError, AddressError, KeyTextError and
    ModelKeyError.
    """
    known = options.wording_model
    if known is not None and not key and text == known.models[0].full:
        return options
    if len(text.split()) > 1:
        raise GuardrailError("Writer: one model writes; write its URL, # and its name")
    allow_http = options.allow_http
    if key:
        (model,) = ModelAddress.parse_all([text], {}, allow_http=allow_http)
        options = replace(options, keys=options.keys.with_typed(model_account(model), key))
    models, options = _models(text.split(), options, _in_use(options), allow_http=allow_http)
    writer = options.writer or JudgeOptions((), calls=CallOptions(allow_http=allow_http))
    return replace(options, writer=replace(writer, models=models))


def _in_use(options: RemoteOptions) -> tuple[ModelAddress, ...]:
    """Return the models among the options that scans use."""
    return () if options.model is None else options.model.models


def _writing(options: RemoteOptions) -> tuple[ModelAddress, ...]:
    """Return the model that was named to write wordings."""
    return () if options.writer is None else options.writer.models[:1]


def _with_shared_key(options: RemoteOptions) -> tuple[ModelAddress, ...]:
    """Return the writer if its key is from the variable for models at a single address."""
    return tuple(model for model in _writing(options) if model.has_shared_key)


def _models(
    texts: Sequence[str],
    options: RemoteOptions,
    others: Sequence[ModelAddress] = (),
    *,
    allow_http: bool,
) -> tuple[tuple[ModelAddress, ...], RemoteOptions]:
    """Return the models with their keys, and the options with the keyring's keys added.

    Precedence of keys: typed, variables, in use, keyring. `others` stay in use: the variable for
    models at a single address is for them if they are at another one. Raises GuardrailError,
    AddressError and ModelKeyError.
    """
    if not texts:
        raise GuardrailError(
            "model: write its URL, # and its name, for example http://localhost:11434/v1#qwen3"
        )
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
