"""Which remote guardrail the session uses: a profile of AIRS, a judge, or a decision model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from guardtui.app.guardrails.choice import (
    MODELS,
    SETTING,
    read_choice,
    write_choice,
)
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.app.guardrails.remote import AIRS, JUDGE, ModelOptions, RemoteOptions, profile_names
from guardtui.app.ports import Author, Choose, Severity
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.state import Connection, ScanStatus, Store
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.guardrail import DECISION, ENGINE, Guardrail, ScannerSettings, remote_name
from guardtui.domain.topic import Topic
from guardtui.http.errors import inert
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.scanner import ActiveRevision
from guardtui.scanners.configuration import AirsConfiguration
from guardtui.session.store import SessionStore, StoreError

WRITER = "writer"
"""Name of the writer among a session's settings."""

NEEDS_ACCOUNT = (
    "Topics need a service account: set PANW_MGMT_CLIENT_ID, PANW_MGMT_CLIENT_SECRET and "
    "PANW_MGMT_TSG_ID."
)
_NEEDS_NAME = (
    "No security profile is named: choose one under Guardrail in the menu, start with "
    "--guardrail airs:NAME, or set PANW_AI_SEC_PROFILE_NAME."
)


class Connections:
    """The connection of one session; changes are published as `AppState.connection`."""

    def __init__(
        self,
        store: Store,
        sessions: SessionStore,
        author: Author,
        options: RemoteOptions,
        topic: Path,
    ) -> None:
        """`sessions` stores the last profile and the author's consents for the file `topic`."""
        self._store, self._sessions, self._author = store, sessions, author
        self._options, self._topic = options, topic
        self._connection: AirsConnection | None = None
        self._in_effect: ActiveRevision | None = None
        self._definition: Topic | None = None
        self._asks_airs = False
        self._only_chosen = False
        named = options.guardrail
        self._chosen = named if named is not None and named.kind == ENGINE else None
        self._chosen_guardrail: Guardrail | None = None
        self._forgotten = ""
        self._remembered_choice = self._read_choice()
        if not self._named_by_flags:
            self._use_remembered()
        self._publish()

    def _use_remembered(self) -> None:
        """Use the engine, or a named profile of AIRS; models are asked only after a choice."""
        before = self._remembered_choice
        if before is None:
            return
        if before.kind == ENGINE:
            self._chosen = before
        elif before.name and isinstance(before.configuration, AirsConfiguration):
            self._options = replace(self._options, airs=before.configuration)

    # --- the guardrail ----------------------------------------------------------------------

    @property
    def options(self) -> RemoteOptions:
        """Options of the remote guardrails, from the command line or a later choice."""
        return self._options

    @options.setter
    def options(self, options: RemoteOptions) -> None:
        self._options = options
        self._publish()

    @property
    def model(self) -> ModelOptions | None:
        """The judge or decision model used by scans, or None."""
        other = self._asks_airs or self._engine_only
        return None if other else self._options.model

    @property
    def asked_name(self) -> str:
        """Name of the scanner used by scans."""
        return AIRS if self.model is None else self.model.scanner_name

    @property
    def who(self) -> str:
        """Display name of the scanner used by scans."""
        return remote_name(self.asked_name)

    @property
    def connection(self) -> AirsConnection | None:
        """The connected profile; None before the first use."""
        return self._connection

    @property
    def is_named(self) -> bool:
        """Return whether a profile or a model is configured: it may still need a key."""
        if self._connection is not None or self.model is not None:
            return True
        return self._named_by_flags and not self._engine_only

    @property
    def in_effect(self) -> ActiveRevision | None:
        """The definition in effect in the connected profile; None if unknown."""
        return self._in_effect

    @property
    def _engine_only(self) -> bool:
        return self._chosen is not None and self._chosen.kind == ENGINE

    @property
    def guardrail(self) -> NamedGuardrail | None:
        """The guardrail that was chosen, here or on the command line, or None."""
        return self._chosen or self._options.guardrail

    @property
    def kind(self) -> str | None:
        """The chosen or configured kind of guardrail; None if nothing is configured."""
        if self._chosen is not None:
            return self._chosen.kind
        if self.model is not None:
            return self.model.scanner_name
        return AIRS if self._connection is not None or not self.refusal else None

    @property
    def remembered(self) -> NamedGuardrail | None:
        """The guardrail last chosen for this topic, in any session."""
        return self._remembered_choice

    @property
    def refusal(self) -> str:
        """Why no scan can run before a guardrail is chosen, or ""."""
        if self._engine_only:
            return "This topic is measured by the engine only."
        if self.model is not None or self._connection is not None:
            return ""
        if self._forgotten and self._chosen is None and not self._named_by_flags:
            return self._forgotten
        before = self._remembered_choice
        offered = self._chosen is None and not self._named_by_flags
        if offered and before is not None and before.kind in MODELS:
            return (
                "This topic was scanned by a model before: choose it again, or another guardrail."
            )
        try:
            settings = self._options.settings()
        except AirsError as error:
            return str(error)
        named = settings.profile or self.remembered_profile or settings.client_id
        return "" if named else _NEEDS_NAME

    @property
    def _named_by_flags(self) -> bool:
        named = self._options.guardrail is not None or self._options.model is not None
        return named or bool(self._options.airs.profile)

    def _read_choice(self) -> NamedGuardrail | None:
        try:
            return read_choice(self._sessions.setting(SETTING), self._topic)
        except StoreError:  # reported when something is written
            return None
        except GuardtuiError as error:
            self._forgotten = str(error)
            return None

    def choose(self, choice: NamedGuardrail, options: RemoteOptions) -> None:
        """Use this guardrail with these options, and store the choice for the topic.

        Raises ScannerError and AirsError, before any change.
        """
        connection, chosen = None, Guardrail(choice.kind)
        if choice.kind == AIRS:
            settings = options.settings()
            if settings.profile:
                connection = options.connect(settings, settings.profile)
        elif options.model is not None and choice.kind == DECISION:
            # The version that answers is unknown before the first answer.
            chosen = replace(chosen, models=(inert(options.model.models[0].name),))
        elif options.model is not None and choice.kind == JUDGE:
            chosen = options.model.scanner().settings.guardrail
        self._options, self._chosen = options, choice
        self._asks_airs = choice.kind == AIRS
        self._chosen_guardrail, self._only_chosen = chosen, False
        self._remembered_choice, self._forgotten = choice, ""
        with problems_shown(self._author):
            self._sessions.update_settings(write_choice(choice))
        self.use(connection)

    def follows(self, settings: ScannerSettings) -> bool:
        """Return whether verdicts are by the chosen guardrail; True if none was chosen."""
        if self._chosen is None:
            return True
        wanted = self._chosen_guardrail or Guardrail(self._chosen.kind)
        if self._chosen.kind == AIRS and self._connection is not None:
            wanted = self._connection.guardrail
        return not settings.is_forecast and settings.guardrail.fits(wanted)

    def use_writer(self, options: RemoteOptions) -> None:
        """Use options with another writer, and store its address for the topic."""
        model = options.wording_model
        self.options = options
        # A query may hold a secret.
        if model is not None and "?" not in model.models[0].full:
            self._keep(WRITER, {"model": model.models[0].full})

    @property
    def remembered_writer(self) -> str:
        """The writer last used for this topic, as URL#name, or "". Raises StoreError."""
        model = self._remembered(WRITER).get("model")
        return model if isinstance(model, str) else ""

    def use(self, connection: AirsConnection | None) -> None:
        """Use this connection; None: reconnect at the next use."""
        self._connection, self._in_effect, self._definition = connection, None, None
        self._publish()

    def use_effect(self, in_effect: ActiveRevision | None, definition: Topic | None) -> None:
        """Set what the profile has in effect; its `definition`, or None if that is not known."""
        self._in_effect, self._definition = in_effect, definition
        self._publish()

    def swap(self) -> None:
        """Switch scans between AIRS and the models."""
        self._asks_airs = not self._asks_airs
        self._chosen = None
        self._publish()

    def _publish(self) -> None:
        known = None
        if self.model is not None:
            known = Connection(self.who, self.model.title)
        elif self._connection is not None and not self._engine_only:
            now = self._in_effect
            revision = None if now is None else now.profile.revision
            title = self._connection.title
            known = Connection(self.who, title, revision, self._definition)
        if known != self._store.state.connection:
            self._store.publish(replace(self._store.state, connection=known))

    # --- connecting -------------------------------------------------------------------------

    async def connected(self) -> AirsConnection | None:
        """Return the connection, made at the first use; None if the author chose no profile.

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
        """Return the connection; None, with a message, if it cannot change topics."""
        connection = await self.connected()
        if connection is not None and not connection.manages:
            self.warn(NEEDS_ACCOUNT, error=True)
            return None
        return connection

    async def _chosen_profile(self, settings: AirsSettings) -> str:
        """Ask which profile of the tenant to use; return "" if none was chosen."""
        if not settings.client_id:
            self.warn(_NEEDS_NAME, error=True)
            return ""
        self._store.show_scan(ScanStatus("lists profiles …", who=self.who))
        names = await profile_names(settings)
        self._store.show_scan(None)
        if not names:
            self.warn("This tenant has no security profile.", error=True)
            return ""
        return await self._author.ask(Choose("Security profile", tuple(names))) or ""

    def settle(self) -> None:
        """Keep a profile chosen from a list, since it has been used."""
        self._only_chosen = False

    def dismiss(self) -> None:
        """Forget a profile chosen for a scan that the author dismissed."""
        if self._only_chosen:
            self.use(None)

    def warn(self, message: str, *, error: bool = False) -> None:
        """Show a message that may contain text of a service, made inert."""
        severity: Severity = "error" if error else "warning"
        title = "" if message.startswith(self.who) else self.who
        self._author.notify(message, title=title, severity=severity, seconds=READING_TIME)

    # --- stored in the session -------------------------------------------------------------

    def _remembered(self, name: str) -> dict[str, Any]:
        known = self._sessions.setting(name)
        return known if isinstance(known, dict) else {}

    @property
    def remembered_profile(self) -> str:
        """The profile chosen or used last, or "". Raises StoreError."""
        choice = self._remembered_choice
        if choice is not None and isinstance(choice.configuration, AirsConfiguration):
            return choice.configuration.profile or ""
        return str(self._remembered(AIRS).get("profile") or "")

    def agreed_to(self, model: ModelOptions) -> bool:
        """Return whether the author agreed to scans by this model without a question.

        Raises StoreError.
        """
        return self._remembered(model.scanner_name).get("agreed") == model.title

    def remember(self, connection: AirsConnection, *, agreed: bool) -> None:
        """Store the profile, and whether to scan with it, and deploy to it, without asking."""
        agreement = connection.key if agreed else ""
        self._keep(AIRS, {"profile": connection.profile, "agreed": agreement})
        self.settle()

    def remember_model(self, model: ModelOptions, *, agreed: bool) -> None:
        """Store whether to scan with this model without asking."""
        self._keep(model.scanner_name, {"agreed": model.title if agreed else ""})

    def _keep(self, name: str, known: dict[str, str]) -> None:
        with problems_shown(self._author):
            self._sessions.update_settings({name: known})

    @property
    def agreed(self) -> bool:
        """Return whether scans and deployments to this profile need no further question."""
        known = self._connection
        return known is not None and self._remembered(AIRS).get("agreed") == known.key

    def agreed_connection(self) -> AirsConnection | None:
        """Return the connection if the author consented to unattended changes, restarts included.

        Raises ScannerError and StoreError.
        """
        if self._engine_only:
            return None
        known = self._remembered(AIRS)
        if self._connection is None and known.get("agreed"):
            settings = self._options.settings()
            name = settings.profile or self.remembered_profile
            if name:
                self.use(self._options.connect(settings, name))
        connection = self._connection
        return connection if connection is not None and connection.manages and self.agreed else None
