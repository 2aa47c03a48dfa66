"""Scanner for a whole profile of AIRS: the verdict, and every topic that matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdict
from guardtui.scanners.airs.scanner import AirsScanner
from guardtui.scanners.base import verdict_key

_BLOCKED, _ALLOWED = "-", "+"
"""Prefixes of the names of matched topics, so that one list holds both kinds."""


class ProfileScanner(AirsScanner):
    """Scans each prompt once for all topics; the topic given to `scan` is ignored.

    `stopped_by` names all topics that matched, also for prompts that passed; `split_names`
    separates them. Verdicts are cached apart from those on a single topic.
    """

    def _counted(self, answer: Verdict) -> Verdict:
        names = [_BLOCKED + name for name in answer.topics]
        names += [_ALLOWED + name for name in answer.allowed_topics]
        note = answer.note if answer.doubtful else ""
        return replace(answer, note=note, topics=tuple(names))

    def _note(self, topic: Topic, verdict: Verdict) -> str:
        return verdict.note

    def _key(self, topic: Topic, text: str, revision: str, epoch: int = 1) -> bytes:
        """Return the cache key of a verdict on the whole profile, independent of the definition."""
        fingerprint = self._fingerprint if revision == self._revision else ""
        return verdict_key(
            "airs, whole profile",
            str(self._airs.scan_endpoint),
            self._choice.name,
            fingerprint or revision,
            text,
            *([str(epoch)] if epoch > 1 else []),
        )


def split_names(
    matched: Mapping[int, tuple[str, ...]],
) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
    """Return the block topics, and the allow topics, that matched each row."""

    def of(sign: str) -> dict[int, tuple[str, ...]]:
        named = {
            row: tuple(dict.fromkeys(name[1:] for name in names if name.startswith(sign)))
            for row, names in matched.items()
        }
        return {row: names for row, names in named.items() if names}

    return of(_BLOCKED), of(_ALLOWED)
