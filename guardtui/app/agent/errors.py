"""What an agent is refused, and the options by which its author allows it."""

from __future__ import annotations

from guardtui.domain.errors import GuardtuiError

WRITE = "--allow-write"
CALLS = "--allow-calls"


class AgentError(GuardtuiError):
    """A request of an agent that is refused; the message has the remedy."""

    exit_code = 2
