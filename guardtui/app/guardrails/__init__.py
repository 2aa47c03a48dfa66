"""The guardrails of a workspace: named, chosen, connected, checked."""
