"""AIRS asked what a whole profile makes of prompts: the verdict, and every topic that matched."""

from __future__ import annotations

from collections.abc import Mapping

from guardtui.domain.topic import Topic
from guardtui.scanners.airs.answers import Answer
from guardtui.scanners.airs.scanner import OTHER_REVISION, AirsScanner, _Judging
from guardtui.scanners.base import KeptVerdict, verdict_key

_BLOCKED, _ALLOWED = "-", "+"
"""What stands before the name of a topic that matched, so that one list holds both kinds."""


class ProfileScanner(AirsScanner):
    """Asks for each prompt once, whatever the topics; the one given to `scan` does not count.

    Its `stopped_by` names all topics that matched, also of prompts that were let through; they are
    told apart by `split_names`. Verdicts are kept apart from those on a single topic.
    """

    def _judged(self, judging: _Judging, text: str, answer: Answer) -> KeptVerdict | str:
        revision = answer.profile_id.lower()
        if answer.triggered is None:
            judging.revision = judging.revision or revision
            return answer.reason or "no verdict"
        names = [_BLOCKED + name for name in answer.blocked_topics]
        names += [_ALLOWED + name for name in answer.allowed_topics]
        note = answer.reason if answer.doubtful else ""
        kept = KeptVerdict(answer.triggered, note, tuple(names))
        if revision and self._cache is not None:
            self._cache.keep(self._key(judging.topic, text, revision, judging.epoch), kept)
        judging.revision = judging.revision or revision
        return OTHER_REVISION if revision and revision != judging.revision else kept

    def _note(self, topic: Topic, kept: KeptVerdict) -> str:
        return kept.note

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
