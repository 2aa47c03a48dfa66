"""`--writer`: a language model that writes wordings, which has a key of its own."""

from __future__ import annotations

from collections.abc import Sequence

import click

from guardtui.cli.model_scans import parse_models
from guardtui.http.address import AddressError
from guardtui.http.openai import parse_model
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.judge import JudgeOptions

_RETRIES = 5


def models_and_writer(
    models: Sequence[str],
    writer: str | None,
    *,
    allow_http: bool,
    retries: int | None = None,
    max_tokens: int | None = None,
) -> tuple[list[ModelAddress], JudgeOptions | None]:
    """Return the models and the writer, or None, each with its own key.

    Raises UsageError and `InputError`.
    """
    if writer is None:
        return parse_models(models, allow_http=allow_http), None
    try:
        parse_model(writer, allow_http=allow_http)
    except AddressError as error:
        raise click.UsageError(f"--writer: {error}") from error
    *others, model = parse_models((*models, writer), allow_http=allow_http)
    return others, JudgeOptions(
        (model,),
        calls=CallOptions(
            most_tokens=max_tokens,
            retries=_RETRIES if retries is None else retries,
            allow_http=allow_http,
        ),
    )
