"""The keys of each kind of guardrail: one declaration for files, `--set`, the dialog and lists."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.text import did_you_mean, display_start
from guardtui.http.address import AddressError, Endpoint, without_queries
from guardtui.http.errors import inert

MODEL_OPTION = "model-option"
"""Key of the options that a judge's calls send; one of them is `model-option.seed`."""

_SHOWN = 60  # characters of a value in a message
_SECRET = re.compile(
    r"(key|token|secret|passw(or)?d|credentials?|authori[sz]ation|bearer|sig|code)$", re.IGNORECASE
)
_NO_SECRETS = (
    "keys do not belong here: put it into a variable (PANW_AI_SEC_API_KEY, GUARDTUI_MODEL_KEY, or "
    "GUARDTUI_MODEL_KEYS), or into the keyring with the Guardrail dialog"
)


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """What is wrong with the value of a key, or with the key; never shows a secret."""

    key: str
    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}" + (f"\n  {self.remedy}" if self.remedy else "")


class ConfigurationError(GuardtuiError, ValueError):
    """All invalid keys of a guardrail, in `problems`."""

    exit_code = 2

    def __init__(self, problems: Iterable[KeyProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def _models(value: object) -> object:
    """Return the models of a text, separated by blanks, each a valid `URL#NAME`."""
    models = tuple(value.split()) if isinstance(value, str) else value
    if isinstance(models, tuple):
        for model in models:
            url, sign, name = str(model).partition("#")
            if not sign or not name.strip():
                shown = "…" if "@" in url else display_start(without_queries(url), _SHOWN)
                raise ValueError(
                    f"'{shown}' has no model name: write URL#NAME, such as https://host/v1#my-model"
                )
            Endpoint.parse(url, allow_http=True)
    return models


def _endpoint(value: object) -> object:
    if isinstance(value, str):
        Endpoint.parse(value)
    return value


def _options(value: object) -> object:
    """Return options with valid names."""
    for name in value if isinstance(value, Mapping) else ():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", str(name)):
            raise ValueError(f"'{display_start(str(name), _SHOWN)}' is not the name of an option")
        if _SECRET.search(str(name)):
            raise ValueError(_NO_SECRETS)
    return value


Models = Annotated[
    tuple[str, ...],
    BeforeValidator(_models),
    WithJsonSchema({"type": ["string", "array"], "items": {"type": "string"}}),
]
Rate = Annotated[float, Field(gt=0, le=10_000)]
Price = Annotated[float, Field(ge=0)]
Budget = Annotated[float, Field(gt=0, le=1_000_000)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000_000)]
Retries = Annotated[int, Field(ge=0, le=5)]

_CONCURRENCY = "Maximum concurrent requests (default: 5)."
_RATE = "Maximum requests per second."
_RETRIES = "Retries per failed prompt (default: 5)."
_PRICE_IN = "Price of a million input tokens."
_PRICE_OUT = "Price of a million output tokens."
_BUDGET = "Maximum cost of one run, in the currency of the prices; it stops before it exceeds this."
_MAX_TOKENS = "Maximum tokens of one run, which stops before it exceeds them."
_ALLOW_HTTP = "Allow plain http:// for model endpoints on other machines."


class Configuration(BaseModel):
    """A guardrail without its keys. The aliases of the fields are the keys, `title` their values.

    Missing values are those of variables, or the defaults.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        alias_generator=lambda name: name.replace("_", "-"),
        populate_by_name=True,
        protected_namespaces=(),
    )
    kind: ClassVar[str]
    subject: ClassVar[str]
    """What it is, in a few words, for a list."""

    @property
    def address(self) -> str:
        """The guardrail as `--guardrail` takes it without a name; "" if it needs a name."""
        return self.kind

    @property
    def guardrail(self) -> Guardrail:
        """What it states of a guardrail, which recorded ones fit."""
        return Guardrail(self.kind)

    def given(self) -> dict[str, Any]:
        """Return the values that were set, by key, as a file has them."""
        known = self.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
        if len(models := known.get("model", ())) == 1:
            known["model"] = models[0]
        return known

    def changed(self, values: Mapping[str, object]) -> Configuration:
        """Return a copy with other values, by key. Raises ConfigurationError."""
        known = self.given()
        options = {**known.get(MODEL_OPTION, {}), **_mapping(values.get(MODEL_OPTION))}
        extra = {MODEL_OPTION: options} if options else {}
        return configure(self.kind, {**known, **values, **extra})


class EngineConfiguration(Configuration):
    """The engine."""

    kind = "engine"
    subject = "the engine"

    encoder: Literal["pair", "minilm", "static"] | None = Field(
        None, description="Encoder: pair (16 languages; the default), minilm or static (fastest)."
    )


class AirsConfiguration(Configuration):
    """A security profile of Prisma AIRS."""

    kind = "airs"
    subject = "a profile of Prisma AIRS"

    profile: str | None = Field(
        None, title="NAME", description="Security profile (default: PANW_AI_SEC_PROFILE_NAME)."
    )
    region: Literal["us", "de", "in", "sg"] | None = Field(
        None, description="Region to which scans are sent: that of the API key (default: us)."
    )
    scan_endpoint: Annotated[str, BeforeValidator(_endpoint)] | None = Field(
        None,
        title="URL",
        description="URL for scans, instead of a region (default: PANW_AI_SEC_API_ENDPOINT).",
    )
    tenant: str | None = Field(
        None,
        title="NAME",
        description="Tenant of airs-cli whose settings are used (default: its active tenant).",
    )
    concurrency: Annotated[int, Field(ge=1, le=20)] | None = Field(
        None,
        description="Maximum concurrent requests (default: SCAN_CONCURRENCY, or 5); AIRS may "
        "throttle above 5.",
    )
    rate: Rate | None = Field(None, description=_RATE)
    retries: Retries | None = Field(None, description=_RETRIES)
    batch: bool = Field(
        False, description="Use the asynchronous batch API of AIRS, with 20 prompts a batch."
    )

    @property
    def address(self) -> str:
        return f"airs:{self.profile}" if self.profile else "airs"

    @property
    def guardrail(self) -> Guardrail:
        profile = inert(self.profile or "")
        region: str = self.region or ""
        if self.scan_endpoint is not None:
            endpoint = Endpoint.parse(self.scan_endpoint)
            if endpoint.loopback:
                return Guardrail(self.kind, profile=profile, sandbox=True)
            region = endpoint.url
        usual = region == "us"
        return Guardrail(
            self.kind,
            profile=profile,
            region="" if usual else region,
            tenant=inert(self.tenant or ""),
        )

    @property
    def flags(self) -> dict[str, str | int | None]:
        """The values that are settings of AIRS, by their names in `AirsSettings.load`."""
        names = ("profile", "region", "scan_endpoint", "tenant", "concurrency", "retries")
        return {name: getattr(self, name) for name in names}


class _ModelConfiguration(Configuration):
    """Models at addresses."""

    model: Models = Field((), title="URL#NAME")

    @property
    def address(self) -> str:
        urls = {model.partition("#")[0] for model in self.model}
        if len(urls) != 1:
            return ""
        names = [model.partition("#")[2] for model in self.model]
        return "" if any("," in name for name in names) else self._address(urls.pop(), names)

    @property
    def guardrail(self) -> Guardrail:
        names = (inert(model.partition("#")[2].strip()) for model in self.model)
        return Guardrail(self.kind, models=tuple(names))

    def _address(self, url: str, names: Iterable[str]) -> str:
        return f"{self.kind}:{url}#{','.join(names)}"


class JudgeConfiguration(_ModelConfiguration):
    """A language model that judges, or several that vote."""

    kind = "judge"
    subject = "language models that judge"

    model: Models = Field(
        (),
        title="URL#NAME",
        description="Address and name of a model; several vote. Key: GUARDTUI_MODEL_KEY; for "
        "several addresses GUARDTUI_MODEL_KEYS.",
    )
    template: Path | None = Field(
        None,
        title="FILE",
        description="Template of the instructions (see 'guardtui guardrails template judge').",
    )
    form: str | None = Field(
        None,
        title="answer|graded|pattern:EXPR",
        description="Form in which the judge answers (default: answer).",
    )
    model_option: Annotated[dict[str, Any], BeforeValidator(_options)] = Field(
        {},
        title="JSON",
        description="Option sent with every call, such as model-option.seed=7.",
    )
    allow_http: bool = Field(False, description=_ALLOW_HTTP)
    price_in: Price | None = Field(None, description=_PRICE_IN)
    price_out: Price | None = Field(None, description=_PRICE_OUT)
    budget: Budget | None = Field(None, description=_BUDGET)
    max_tokens: Tokens | None = Field(None, description=_MAX_TOKENS)
    answer_tokens: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="Maximum tokens of one answer (default: 512)."
    )
    concurrency: Annotated[int, Field(ge=1, le=512)] | None = Field(None, description=_CONCURRENCY)
    rate: Rate | None = Field(None, description=_RATE)
    retries: Retries | None = Field(None, description=_RETRIES)


class DecisionConfiguration(_ModelConfiguration):
    """A decision model."""

    kind = "decision"
    subject = "a decision model"

    model: Annotated[Models, Field(max_length=1)] = Field(
        (),
        title="URL#NAME",
        description="Address and name of the model. Key: GUARDTUI_MODEL_KEY.",
    )
    api: Literal["decisions", "systemone"] | None = Field(
        None, description="Wire format (default: decisions)."
    )
    template: Path | None = Field(
        None,
        title="FILE",
        description="Template of the question (see 'guardtui guardrails template decision').",
    )
    allow_http: bool = Field(False, description=_ALLOW_HTTP)
    price_in: Price | None = Field(None, description=_PRICE_IN)
    price_out: Price | None = Field(None, description=_PRICE_OUT)
    budget: Budget | None = Field(None, description=_BUDGET)
    max_tokens: Tokens | None = Field(None, description=_MAX_TOKENS)
    concurrency: Annotated[int, Field(ge=1, le=512)] | None = Field(None, description=_CONCURRENCY)
    rate: Rate | None = Field(None, description=_RATE)
    retries: Retries | None = Field(None, description=_RETRIES)


KINDS: Mapping[str, type[Configuration]] = {
    model.kind: model
    for model in (
        EngineConfiguration,
        AirsConfiguration,
        JudgeConfiguration,
        DecisionConfiguration,
    )
}
"""The configuration of each kind of guardrail, by its name."""


# --- keys ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a kind: its name, its help, and which values it takes, in words."""

    name: str
    help: str
    values: str
    choices: tuple[str, ...] = ()
    is_flag: bool = False


def keys_of(kind: str) -> tuple[Key, ...]:
    """Return the keys of a kind, in the order of its declaration."""
    return tuple(_key(field) for field in KINDS[kind].model_fields.values())


def _key(field: FieldInfo) -> Key:
    bounds = {type(bound).__name__: bound for bound in field.metadata}
    annotation: Any = field.annotation
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
        bounds |= {
            type(bound).__name__: bound
            for info in metadata
            for bound in getattr(info, "metadata", (info,))
        }
    choices: tuple[str, ...] = ()
    if get_origin(annotation) is Literal:
        choices = get_args(annotation)
        values = ", ".join(choices)
    elif annotation is bool:
        values = "true, false"
    elif annotation is int:
        values = f"a whole number from {bounds['Ge'].ge} to {bounds['Le'].le}"
    elif annotation is float:
        values = "a number, at least 0"
        if "Gt" in bounds:
            values = f"a number above 0, at most {bounds['Le'].le}"
    else:
        values = field.title or "text"
    return Key(field.alias or "", field.description or "", values, choices, annotation is bool)


def configure(kind: str, values: Mapping[str, object]) -> Configuration:
    """Return the configuration of a kind for texts and plain values, by key.

    Raises ConfigurationError with all problems; a value named like a secret is never shown.
    """
    keys = {key.name: key for key in keys_of(kind)}
    problems = [_unknown(kind, name, keys) for name in values if name.partition(".")[0] not in keys]
    if problems:
        raise ConfigurationError(problems)
    if values.get("region") and values.get("scan-endpoint"):
        problem = "a region and a scan-endpoint exclude each other"
        raise ConfigurationError([KeyProblem("scan-endpoint", problem, "remove one of the two")])
    if values.get("budget") and not (values.get("price-in") or values.get("price-out")):
        remedy = "give price-in and price-out, for a million tokens, or limit max-tokens"
        raise ConfigurationError([KeyProblem("budget", "needs prices", remedy)])
    try:
        return KINDS[kind].model_validate({name: _plain(value) for name, value in values.items()})
    except ValidationError as error:
        raise ConfigurationError(_problems(error, keys)) from None


def _plain(value: object) -> object:
    """Return a value of YAML as pydantic reads it: scalars as texts, lists as tuples."""
    if isinstance(value, Mapping):
        return {str(name): _json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return tuple(str(entry) for entry in value)
    if isinstance(value, bool):
        return str(value).lower()
    return value if value is None else str(value).strip()


def _json(value: object) -> object:
    return value if isinstance(value, str) else json.loads(json.dumps(value, default=str))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _unknown(kind: str, name: str, keys: Mapping[str, Key]) -> KeyProblem:
    shown = display_start(name, _SHOWN)
    if _SECRET.search(name):
        return KeyProblem(shown, "this looks like a secret", _NO_SECRETS)
    near = did_you_mean(name, keys)
    owners = [other for other in KINDS if any(key.name == name for key in keys_of(other))]
    owner = f" (a key of {', '.join(owners)})" if owners else ""
    remedy = f"'guardtui guardrails --keys {kind}' lists its keys: {', '.join(keys)}"
    return KeyProblem(shown, f"unknown key of {kind}{near or owner}", remedy)


def _problems(error: ValidationError, keys: Mapping[str, Key]) -> Iterator[KeyProblem]:
    for problem in error.errors():
        key = keys[str(problem["loc"][0]).replace("_", "-")]
        cause = problem.get("ctx", {}).get("error")
        if isinstance(cause, AddressError | ValueError):
            text = str(cause)
        elif problem["type"] == "too_long":
            text = "a decision model is one model: write one URL#NAME"
        else:
            text = f"'{display_start(str(problem['input']), _SHOWN)}' is not valid"
            text += did_you_mean(str(problem["input"]), key.choices)
        yield KeyProblem(key.name, text, f"values: {key.values}")


def secret_in(values: Mapping[str, object]) -> str:
    """Return the key of a URL that holds a secret, for a file that others read; "" for none."""
    for name in ("model", "scan-endpoint"):
        urls = values.get(name)
        for url in urls if isinstance(urls, list | tuple) else str(urls or "").split():
            query = urlsplit(str(url).partition("#")[0]).query
            if any(_SECRET.search(parameter) for parameter, _ in parse_qsl(query)):
                return name
    return ""


SECRET_REMEDY = _NO_SECRETS
"""What to do with a secret that a file holds."""


# --- addresses and --set ------------------------------------------------------------------


def parse_address(text: str) -> Configuration | None:
    """Return the guardrail at an address, or None for a text that can only be a name.

    `engine`, `airs`, `airs:PROFILE`, `judge:URL#MODEL[,MODEL]` and `decision:URL#MODEL` are
    addresses. Raises ConfigurationError.
    """
    kind, colon, rest = text.partition(":")
    if kind not in KINDS:
        return None
    if not colon and kind in ("engine", "airs"):
        return configure(kind, {})
    if kind == "airs" and rest.strip():
        return configure(kind, {"profile": rest})
    if kind in ("judge", "decision") and rest.strip():
        url, sign, names = rest.partition("#")
        models = tuple(f"{url}{sign}{name.strip()}" for name in names.split(","))
        return configure(kind, {"model": models})
    problem = f"'{display_start(text, _SHOWN)}' is not an address of a guardrail"
    raise ConfigurationError([KeyProblem("guardrail", problem, ADDRESSES)])


ADDRESSES = "write engine, airs:PROFILE, judge:URL#MODEL[,MODEL] or decision:URL#MODEL"
"""The addresses of guardrails without a name, in words."""


def option_value(name: str, text: str) -> object:
    """Return the value of an option of a model for its JSON text. Raises ConfigurationError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        problem = f"{name} needs JSON after the =; text needs quotes, as in '{name}=\"low\"'"
        raise ConfigurationError([KeyProblem(MODEL_OPTION, problem)]) from None


def parse_settings(texts: Iterable[str]) -> dict[str, object]:
    """Return the values of texts `KEY=VALUE`, by key. Raises ConfigurationError."""
    values: dict[str, object] = {}
    options: dict[str, object] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not name:
            problem = f"'{display_start(name, _SHOWN)}' is not of the form KEY=VALUE"
            raise ConfigurationError([KeyProblem("--set", problem, "such as retries=3")])
        owner, dot, option = name.partition(".")
        known: dict[str, object] = values
        if owner == MODEL_OPTION and dot:
            known, name = options, option
        if name in known:
            raise ConfigurationError([KeyProblem(text.partition("=")[0], "given twice")])
        known[name] = option_value(name, value) if known is options else value
    return {**values, MODEL_OPTION: options} if options else values
