"""`--guardrail` and `--set`: the guardrail of a command, and its values for one run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail

Function = TypeVar("Function", bound=Callable[..., Any])

ENGINE = "engine"
AIRS = "airs"
JUDGE = "judge"
DECISION = "decision"
_ENCODER = "encoder"


def set_option(help_text: str) -> Callable[[Function], Function]:
    """Add --set, passed as `settings`."""
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=help_text)


def guardrail_option(
    help_text: str = "Guardrail to ask: a name ('guardtui guardrails' lists them), engine "
    "(default), airs:PROFILE, judge:URL#MODEL[,MODEL] or decision:URL#MODEL.",
) -> Callable[[Function], Function]:
    """Add --guardrail and --set, passed as `guardrail`, a `GuardrailFlags`."""

    def add(function: Function) -> Function:
        @click.option("--guardrail", "guardrail_name", metavar="NAME", help=help_text)
        @set_option(
            "Value of a key of the guardrail for this run, such as retries=3 or encoder=static "
            "(repeatable; see 'guardtui guardrails --keys KIND')."
        )
        @functools.wraps(function)
        def command(*, guardrail_name: str | None, settings: tuple[str, ...], **values: Any) -> Any:
            return function(guardrail=GuardrailFlags(guardrail_name, settings), **values)

        return command  # type: ignore[return-value]

    return add


def encoder_option(function: Function) -> Function:
    """Add --set for a command that runs the engine only, passed as `encoder`."""

    @set_option("Value of a key of the engine: encoder=pair, minilm or static.")
    @functools.wraps(function)
    def command(*, settings: tuple[str, ...], **values: Any) -> Any:
        return function(encoder=GuardrailFlags(None, settings).with_encoder()[1], **values)

    return command  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class GuardrailFlags:
    """The values of --guardrail and --set, unchecked."""

    name: str | None = None
    settings: tuple[str, ...] = ()

    def select(self, topic: Path | None = None, default: str = ENGINE) -> NamedGuardrail:
        """Return the guardrail, by default that address, with the values of --set.

        Raises UsageError for values that do not fit, GuardrailError for an unknown name, and
        `ConfigError` for invalid files.
        """
        return self._select(topic, default)[0]

    def with_encoder(
        self, topic: Path | None = None, default: str = ENGINE, others: Sequence[str] = ()
    ) -> tuple[NamedGuardrail, str | None, dict[str, object]]:
        """Return the guardrail, and the encoder of the engine that runs beside it, or None.

        The third is the values of `others`, keys that the command has itself for a guardrail
        without them. Raises as `select`.
        """
        guardrail, beside = self._select(topic, default, (_ENCODER, *others))
        encoder = beside.pop(_ENCODER, getattr(guardrail.configuration, _ENCODER, None))
        return guardrail, None if encoder is None else str(encoder), beside

    def _select(
        self, topic: Path | None, default: str, others: Sequence[str] = ()
    ) -> tuple[NamedGuardrail, dict[str, object]]:
        # Imported late, so that the help is quick.
        from guardtui.app.guardrails.named import find_guardrail
        from guardtui.scanners.configuration import (
            ConfigurationError,
            configure,
            keys_of,
            parse_settings,
        )

        try:
            guardrail = find_guardrail(self.name or default, topic)
        except ConfigurationError as error:
            raise click.UsageError(f"--{error}") from error
        beside: dict[str, object] = {}
        try:
            values = parse_settings(self.settings)
            own = {key.name for key in keys_of(guardrail.kind)}
            beside = {key: values.pop(key) for key in others if key in values and key not in own}
            if _ENCODER in beside:
                configure(ENGINE, {_ENCODER: beside[_ENCODER]})
            configuration = guardrail.configuration.changed(values)
        except ConfigurationError as error:
            more = "" if self.name else "\n  --guardrail NAME chooses a guardrail"
            raise click.UsageError(f"--set {error}{more}") from error
        return replace(guardrail, configuration=configuration), beside

    def words_for(self, guardrail: NamedGuardrail) -> list[str]:
        """Return the flags that choose the same guardrail alone, as words to show.

        A query of a URL that holds a secret is replaced by "…".
        """
        from guardtui.http.address import without_queries
        from guardtui.scanners.configuration import keys_of, secret_in

        known = {key.name for key in keys_of(guardrail.kind)}
        words = [] if self.name is None else ["--guardrail", self.name]
        for setting in self.settings:
            if setting.partition("=")[0].partition(".")[0].strip() in known:
                words += ["--set", setting]
        return [
            without_queries(word) if secret_in({"model": word.replace(",", " ")}) else word
            for word in words
        ]
