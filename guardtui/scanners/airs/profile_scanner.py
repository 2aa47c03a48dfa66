"""AIRS asked what a whole profile makes of prompts: the verdict, and every topic that matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdict
from guardtui.scanners.airs.scanner import AirsScanner
from guardtui.scanners.base import verdict_key

_BLOCKED, _ALLOWED = "-", "+"
"""What stands before the name of a topic that matched, so that one list holds both kinds."""


class ProfileScanner(AirsScanner):
    """Asks for each prompt once, whatever the topics; the one given to `scan` does not count.

    Its `stopped_by` names all topics that matched, also of prompts that were let through; they are
    told apart by `split_names`. Verdicts are kept apart from those on a single topic.
    """

    def _counted(self, answer: Verdict) -> Verdict:
        names = [_BLOCKED + name for name in answer.topics]
        names += [_ALLOWED + name for name in answer.allowed_topics]
        note = answer.note if answer.doubtful else ""
        return replace(answer, note=note, topics=tuple(names))

    def _note(self, topic: Topic, verdict: Verdict) -> str:
        return verdict.note

    def _key(self, topic: Topic, text: str, revision: str, epoch: int = 1) -> bytes:
        """That of a verdict on the whole profile, which no definition of ours is a part of."""
        effect = self._effect if revision == self._revision else ""
        return verdict_key(
            "airs, whole profile",
            str(self._airs.scan_endpoint),
            self._choice.name,
            effect or revision,
            text,
            *([str(epoch)] if epoch > 1 else []),
        )


def split_names(
    told: Mapping[int, tuple[str, ...]],
) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
    """Topics to block, and topics to allow, that matched each row."""

    def of(sign: str) -> dict[int, tuple[str, ...]]:
        named = {
            row: tuple(dict.fromkeys(one[1:] for one in names if one.startswith(sign)))
            for row, names in told.items()
        }
        return {row: names for row, names in named.items() if names}

    return of(_BLOCKED), of(_ALLOWED)
