"""AIRS for commands: options, settings, connections, failures as exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.cli.guardrail_options import AIRS, GuardrailFlags, guardrail_option
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.configuration import AirsConfiguration
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.caches import SqliteTopicRevisions

airs_option = guardrail_option(
    "The security profile: airs:PROFILE, or the name of a guardrail of kind airs (default: "
    "PANW_AI_SEC_PROFILE_NAME)."
)
"""Adds --guardrail and --set for commands that work with AIRS only."""


def load_settings(**flags: str | int | None) -> AirsSettings:
    """Return the current settings; warns of empty variables. Raises `InputError`."""
    try:
        settings = AirsSettings.load(flags)
    except AirsError as error:
        raise InputError(str(error)) from error
    for notice in settings.notices():
        diagnostics.warn(notice)
    return settings


def airs_configuration(flags: GuardrailFlags, topic: Path | None = None) -> AirsConfiguration:
    """Return the profile of AIRS that the flags name. Raises UsageError for another guardrail."""
    guardrail = flags.select(topic, AIRS)
    if not isinstance(guardrail.configuration, AirsConfiguration):
        raise click.UsageError(
            f"{guardrail.title} is {guardrail.configuration.subject}: name a profile of AIRS"
        )
    return guardrail.configuration


def settings_of(flags: GuardrailFlags, topic: Path | None = None) -> AirsSettings:
    """Return the settings for a profile of AIRS. Raises as `load_settings` and UsageError."""
    return load_settings(**airs_configuration(flags, topic).flags)


@contextmanager
def failures_told(context: str = "") -> Iterator[None]:
    """Turn rejections by AIRS into `InputError` (exit code 2), and failures into `AirsError` (3).

    `context` is the prefix of the message of a failure.
    """
    try:
        yield
    except ServiceError as error:
        raise AirsError(f"{context}: {error.message}" if context else error.message) from error
    except AirsError as error:
        raise InputError(str(error)) from error


def known_revisions() -> SqliteTopicRevisions:
    """Return the texts of topic revisions that guardtui has seen on this machine."""
    return SqliteTopicRevisions(cache_folder())


def open_management(settings: AirsSettings) -> ManagementClient:
    """Return a client for topics and profiles, to be closed. Raises AirsError."""
    return ManagementClient(settings.management(), revisions=known_revisions())


def connect(settings: AirsSettings, *, scans: bool) -> AirsConnection:
    """Return a connection that can change topics. Raises AirsError."""
    connection = AirsConnection(settings, scans=scans, revisions=known_revisions())
    settings.management()
    return connection
