"""`--writer`: a language model that writes wordings, which has a key of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from guardtui.cli.model_scans import model_addresses
from guardtui.http.address import AddressError
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.model_address import ModelAddress

_RETRIES = 5


def models_and_writer(
    values: Mapping[str, Any], who: str, example: str
) -> tuple[list[ModelAddress], JudgeOptions | None]:
    """Return the models that --model names and the writer, or None, each with its own key.

    Without --model there are no models if there is a writer. Raises UsageError and `InputError`.
    """
    from guardtui.http.openai import parse_model  # loads the HTTP client

    writer = values.get("writer")
    if writer is None:
        return model_addresses(values, who, example), None
    allow_http = bool(values.get("allow_http"))
    try:
        parse_model(writer, allow_http=allow_http)
    except AddressError as error:
        raise click.UsageError(f"--writer: {error}") from error
    models = (*(values.get("models") or ()), writer)
    *others, model = model_addresses({**values, "models": models}, who, example)
    retries = values.get("retries")
    return others, JudgeOptions(
        (model,),
        most_tokens=values.get("max_tokens"),
        retries=_RETRIES if retries is None else retries,
        allow_http=allow_http,
    )
