"""Which remote guardrail the session uses: a profile of AIRS, a judge, or a decision model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from guardtui.app.ports import Author, Choose, Severity
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.remote import AIRS, ModelOptions, RemoteOptions, profile_names
from guardtui.app.state import Connection, ScanStatus, Store
from guardtui.domain.guardrail import remote_name
from guardtui.scanners.airs.connection import AirsConnection, InEffect
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.session.store import SessionStore

NEEDS_ACCOUNT = (
    "Topics need a service account: set PANW_MGMT_CLIENT_ID, PANW_MGMT_CLIENT_SECRET and "
    "PANW_MGMT_TSG_ID."
)
_NEEDS_NAME = (
    "No security profile is named: start with --profile NAME, or set PANW_AI_SEC_PROFILE_NAME."
)


class Connections:
    """The connection of one session; each change of it is published as `AppState.connection`."""

    def __init__(
        self, store: Store, sessions: SessionStore, author: Author, options: RemoteOptions
    ) -> None:
        """`sessions` keeps which profile was used last, and what the author agreed to."""
        self._store, self._sessions, self._author = store, sessions, author
        self._options = options
        self._connection: AirsConnection | None = None
        self._in_effect: InEffect | None = None
        self._asks_airs = False
        self._only_chosen = False
        self._publish()

    # --- the guardrail ----------------------------------------------------------------------

    @property
    def options(self) -> RemoteOptions:
        """Options of the remote guardrails, as the command line gave them."""
        return self._options

    @options.setter
    def options(self, options: RemoteOptions) -> None:
        self._options = options
        self._publish()

    @property
    def model(self) -> ModelOptions | None:
        """The judge or decision model that scans use; None where they use AIRS."""
        return None if self._asks_airs else self._options.model

    @property
    def asked_name(self) -> str:
        """Name of the scanner that scans use."""
        return AIRS if self.model is None else self.model.scanner_name

    @property
    def who(self) -> str:
        """Display name of that scanner."""
        return remote_name(self.asked_name)

    @property
    def connection(self) -> AirsConnection | None:
        """The profile that is connected, None before it was first needed."""
        return self._connection

    @property
    def is_named(self) -> bool:
        """Whether a profile or a model is configured."""
        return self._connection is not None or self.model is not None

    @property
    def in_effect(self) -> InEffect | None:
        """The definition in effect in the connected profile, None where that is unknown."""
        return self._in_effect

    def use(self, connection: AirsConnection | None) -> None:
        """Use this connection from now on; None: connect anew when next needed."""
        self._connection, self._in_effect = connection, None
        self._publish()

    def use_effect(self, in_effect: InEffect | None) -> None:
        """Remember what the profile has in effect now."""
        self._in_effect = in_effect
        self._publish()

    def swap(self) -> None:
        """Use AIRS instead of the models from now on, or the other way round."""
        self._asks_airs = not self._asks_airs
        self._publish()

    def _publish(self) -> None:
        known = None
        if self.model is not None:
            known = Connection(self.who, self.model.place)
        elif self._connection is not None:
            now = self._in_effect
            revision = None if now is None else now.profile.revision
            known = Connection(self.who, self._connection.place, revision)
        if known != self._store.state.connection:
            self._store.publish(replace(self._store.state, connection=known))

    # --- connecting -------------------------------------------------------------------------

    async def connected(self) -> AirsConnection | None:
        """Return the connection, made when first needed; None when the author chose no profile.

        Raises ScannerError, ServiceError and StoreError.
        """
        if self._connection is None:
            settings = self._options.settings()
            name = settings.profile or self.remembered_profile
            if not name:
                name = await self._chosen_profile(settings)
                if not name:
                    return None
                self._only_chosen = True
            self.use(self._options.connect(settings, name))
        return self._connection

    async def managing(self) -> AirsConnection | None:
        """As `connected`, but None (and the author is notified) where it cannot change topics."""
        connection = await self.connected()
        if connection is not None and not connection.manages:
            self.warn(NEEDS_ACCOUNT, error=True)
            return None
        return connection

    async def _chosen_profile(self, settings: AirsSettings) -> str:
        """Ask which profile of the tenant to use; "" when none was chosen."""
        if not settings.client_id:
            self.warn(_NEEDS_NAME, error=True)
            return ""
        self._store.show_scan(ScanStatus("looks for profiles …", who=self.who))
        names = await profile_names(settings)
        self._store.show_scan(None)
        if not names:
            self.warn("This tenant has no security profile.", error=True)
            return ""
        return await self._author.ask(Choose("Security profile", tuple(names))) or ""

    def settle(self) -> None:
        """Keep the profile that was chosen from a list: something was done with it."""
        self._only_chosen = False

    def dismiss(self) -> None:
        """Forget a profile that was only chosen for a scan that the author then dismissed."""
        if self._only_chosen:
            self.use(None)

    def warn(self, message: str, *, error: bool = False) -> None:
        """Notify the author of a message that a service may have a part in."""
        severity: Severity = "error" if error else "warning"
        self._author.notify(message, title=self.who, severity=severity, seconds=READING_TIME)

    # --- what the session remembers ---------------------------------------------------------

    def _remembered(self, name: str) -> dict[str, Any]:
        known = self._sessions.setting(name)
        return known if isinstance(known, dict) else {}

    @property
    def remembered_profile(self) -> str:
        """The profile that the session used last, "" for none. Raises StoreError."""
        return str(self._remembered(AIRS).get("profile") or "")

    def was_told(self, connection: AirsConnection) -> bool:
        """Whether the author has seen the plan of a scan of this profile. Raises StoreError."""
        return self._remembered(AIRS).get("told") == connection.key

    def was_told_model(self, model: ModelOptions) -> bool:
        """Whether the author has seen the plan of a scan by this model. Raises StoreError."""
        return self._remembered(model.scanner_name).get("told") == model.place

    def remember(self, connection: AirsConnection, *, agreed: bool) -> None:
        """Remember the profile, and whether to deploy to it without asking from now on."""
        self._keep(
            AIRS,
            {
                "profile": connection.profile,
                "told": connection.key,
                "agreed": connection.key if agreed else "",
            },
        )
        self.settle()

    def remember_model(self, model: ModelOptions) -> None:
        """Remember that the author has seen what a scan by this model does."""
        self._keep(model.scanner_name, {"told": model.place})

    def _keep(self, name: str, known: dict[str, str]) -> None:
        with problems_shown(self._author):
            self._sessions.update_settings({name: known})

    @property
    def agreed(self) -> bool:
        """Whether the author agreed to deployments to this profile without a question."""
        known = self._connection
        return known is not None and self._remembered(AIRS).get("agreed") == known.key

    def agreed_connection(self) -> AirsConnection | None:
        """Return the connection if the author consented to unattended changes, restarts included.

        Raises ScannerError and StoreError.
        """
        known = self._remembered(AIRS)
        if self._connection is None and known.get("agreed"):
            settings = self._options.settings()
            name = settings.profile or self.remembered_profile
            if name:
                self.use(self._options.connect(settings, name))
        connection = self._connection
        return connection if connection is not None and connection.manages and self.agreed else None
