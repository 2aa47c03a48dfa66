"""Fingerprint of a profile revision: equal for revisions that should give equal verdicts."""

from __future__ import annotations

import hashlib
import json

from guardtui.domain.topic import Topic
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.policy_paths import guardrails, is_topic, members


def fingerprint_of(profile: SecurityProfile, topic_id: str, topic: Topic | None = None) -> str:
    """Return 64 hex digits that identify the whole policy of a profile revision.

    `topic` is the definition of the pinned revision, if known. It replaces the pin, so that a
    profile revision that only pins another revision with the same text has the same fingerprint.
    Every other topic counts by its id and revision.
    """
    policy = json.loads(json.dumps(profile.policy))
    if topic is not None:
        for _, item in guardrails(policy):
            for _, member in members(item):
                if is_topic(member, topic_id):
                    member["revision"] = topic.fingerprint
    content = json.dumps([profile.active, policy], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
