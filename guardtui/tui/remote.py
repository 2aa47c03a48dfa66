"""Which remote guardrail the app asks: credentials and profile, loaded when first needed."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.epochs import Epochs
from guardtui.session.topic_revisions import SqliteTopicRevisions


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """What the command line said of AIRS; all else comes from the environment and its file.

    `environment` and `config` stand in the place of the process's own, as for a sandbox. `rate` is
    scans a second. With `fresh` verdicts that are known already are asked for again. With a `judge`
    scans ask that, and not AIRS; `epochs` say how often each prompt is asked.
    """

    flags: Mapping[str, str | int | None] = field(default_factory=dict)
    environment: Mapping[str, str] | None = None
    config: Path | None = None
    rate: float | None = None
    fresh: bool = False
    judge: JudgeOptions | None = None
    epochs: Epochs | None = None

    def settings(self) -> AirsSettings:
        """The settings of this moment. Raises AirsError, also where there is no credential."""
        settings = AirsSettings.load(self.flags, self.environment, self.config)
        settings.scan_credential()
        return settings

    def secrets(self) -> dict[str, str]:
        """Keys and tokens that may be sent, by what they are called; for what must not show them.

        Those of variables that are called like secrets are not among them.
        """
        keys = self.judge.keys if self.judge is not None else ()
        found = {f"the key of judge {place + 1}": key.reveal() for place, key in enumerate(keys)}
        with contextlib.suppress(AirsError):  # what cannot be read is not sent either
            settings = AirsSettings.load(self.flags, self.environment, self.config)
            of_airs = {
                "the API key of AIRS": settings.api_key,
                "the bearer token of AIRS": settings.api_token,
                "the client secret of AIRS": settings.client_secret,
            }
            found |= {name: one.reveal() for name, one in of_airs.items() if one is not None}
        return found

    def connect(self, settings: AirsSettings, profile: str) -> AirsConnection:
        """A connection to this profile. Raises AirsError."""
        revisions = SqliteTopicRevisions(cache_folder())
        return AirsConnection(
            replace(settings, profile=profile), rate=self.rate, revisions=revisions
        )


async def profile_names(settings: AirsSettings) -> list[str]:
    """Names of all profiles, sorted; not inert. Raises AirsError and ServiceError."""
    async with ManagementClient(settings.management()) as client:
        return sorted(one.profile_name for one in await client.profiles(latest=True))
