"""Options of remote guardrails: credentials and profile, loaded when first needed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from guardtui.domain.operating_point import BY_HAND
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.configuration import AirsConfiguration
from guardtui.scanners.session_keys import SessionKeys

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail
    from guardtui.scanners.airs.connection import AirsConnection
    from guardtui.scanners.models.decision import DecisionOptions
    from guardtui.scanners.models.judge import JudgeOptions
    from guardtui.session.epochs import Epochs

AIRS = "airs"
JUDGE = "judge"
ModelOptions: TypeAlias = "JudgeOptions | DecisionOptions"
"""Options of a guardrail that is a model."""

NO_PROFILE = AirsConfiguration.model_validate({})


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """Options of remote guardrails; the others come from the environment and its file.

    `airs` is the profile of AIRS. `environment` and `config` replace those of the process, for a
    sandbox. `fresh` ignores cached verdicts. `guardrail` was named on the command line. With a
    `model`, a judge or a decision model, scans use it instead of AIRS; `epochs` are the scans of
    each prompt. A `writer` writes wordings, and only its first model is asked. `keys` were typed or
    are from a keyring and take precedence.
    """

    airs: AirsConfiguration = NO_PROFILE
    environment: Mapping[str, str] | None = None
    config: Path | None = None
    fresh: bool = False
    guardrail: NamedGuardrail | None = None
    model: ModelOptions | None = None
    writer: JudgeOptions | None = None
    epochs: Epochs | None = None
    keys: SessionKeys = field(default_factory=SessionKeys)

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables, with `keys` applied."""
        return os.environ if self.environment is None else self.environment

    def configured(self) -> AirsSettings:
        """Load the settings of AIRS, even if incomplete. Raises AirsError."""
        return self.keys.for_airs(AirsSettings.load(self.airs.flags, self.environment, self.config))

    @property
    def allow_http(self) -> bool:
        """Return whether unencrypted http is allowed to models on other machines."""
        known = (self.model, self.writer)
        return any(options.calls.allow_http for options in known if options is not None)

    @property
    def wording_model(self) -> JudgeOptions | None:
        """The language model that writes wordings: the writer, or the judge's first model."""
        known = self.writer
        if known is None and self.model is not None and self.model.scanner_name == JUDGE:
            known = cast("JudgeOptions", self.model)
        return None if known is None else replace(known, models=known.models[:1])

    def settings(self) -> AirsSettings:
        """Load the settings of AIRS. Raises AirsError, also if no credential for scans is set."""
        settings = self.configured()
        settings.scan_credential()
        return settings

    def secrets(self) -> dict[str, str]:
        """Return the keys and tokens that may be sent, by name, to keep them out of output.

        Other variables with names like secrets are not included.
        """
        keys = self.model.keys if self.model is not None else ()
        secrets = {f"the key of model {number}": key.reveal() for number, key in enumerate(keys, 1)}
        secrets |= self.keys.secrets()
        for key in self.writer.keys if self.writer is not None else ():
            secrets["the key of the writer"] = key.reveal()
        with contextlib.suppress(AirsError):  # unreadable settings are never sent
            settings = self.configured()
            of_airs = {
                "the API key of AIRS": settings.api_key,
                "the bearer token of AIRS": settings.api_token,
                "the client secret of AIRS": settings.client_secret,
            }
            secrets |= {name: key.reveal() for name, key in of_airs.items() if key is not None}
        return secrets

    def connect(self, settings: AirsSettings, profile: str) -> AirsConnection:
        """Return a connection to a profile. Raises AirsError."""
        # Imported when needed, since the client of AIRS is large.
        from guardtui.scanners.airs.connection import AirsConnection
        from guardtui.scanners.local.vectors import cache_folder
        from guardtui.session.caches import SqliteTopicRevisions

        revisions = SqliteTopicRevisions(cache_folder())
        return AirsConnection(
            replace(settings, profile=profile),
            rate=self.airs.rate,
            batches=self.airs.batch,
            revisions=revisions,
        )


def at_stored_threshold(options: ModelOptions, topic: Path) -> ModelOptions:
    """Return the options with the threshold that a session has for a decision model, if any.

    Raises StoreError.
    """
    from guardtui.scanners.models.decision import DecisionOptions
    from guardtui.session.chosen_thresholds import read_decision_threshold, settings_of_session

    if not isinstance(options, DecisionOptions):
        return options
    guardrail = options.scanner().settings.guardrail
    stored = read_decision_threshold(settings_of_session(topic), guardrail)
    return options if stored is None else options.at_threshold(stored, BY_HAND)


async def profile_names(settings: AirsSettings) -> list[str]:
    """Return the names of all profiles, sorted; not inert. Raises AirsError and ServiceError."""
    from guardtui.scanners.airs.management import ManagementClient

    async with ManagementClient(settings.management()) as client:
        return sorted(row.profile_name for row in await client.profiles(latest=True))
