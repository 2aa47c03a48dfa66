"""What a profile revision does, as a name: equal where equal verdicts are to be expected."""

from __future__ import annotations

import hashlib
import json

from guardtui.domain.topic import Topic
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.places import guardrails, is_topic, members


def effect_of(profile: SecurityProfile, topic_id: str, topic: Topic | None = None) -> str:
    """64 hex digits that name the whole policy of a profile revision.

    A revision of the profile that only pins another revision of the topic with the same text does
    the same: with `topic` (the definition that the pinned revision is known to have) that
    definition stands in the place of the pin. Every other topic counts by its id and revision.
    """
    policy = json.loads(json.dumps(profile.policy))
    if topic is not None:
        for _, item in guardrails(policy):
            for _, member in members(item):
                if is_topic(member, topic_id):
                    member["revision"] = topic.fingerprint
    told = json.dumps([profile.active, policy], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()
