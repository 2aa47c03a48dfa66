"""Words that are typical of one group of prompts, compared with all others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

WORDS_AT_MOST = 5

_WORD = re.compile(r"[^\W\d_]{2,24}(?:['’][^\W\d_]{1,3})?")
_CHARACTERS = 2_000
"""Maximum number of characters read of a prompt."""

_STOP_WORDS = """
    about above after again all also always am an and any anyone anything are aren't around as ask
    asking at away be because been before being below between both but by call called can can't
    cannot come could couldn't did didn't do does doesn't doing don't done down during each else
    etc even ever every few find for from further get gets getting give given gives go goes going
    got had has hasn't have haven't having he hello help her here here's hers herself hey hi him
    himself his how how's however i'd i'll i'm i've if in into is isn't it it's its itself just
    keep know known let let's like likely look looking lot made make makes making many may maybe me
    mean might mine more most much must my myself need needed needs never no nor not now of off ok
    okay on once one ones only onto or other others our ours ourselves out over own per please
    possible put rather really right said same say see seem seems shall she should shouldn't since
    so some someone something still such sure take taken tell than thank thanks that that's the
    their theirs them themselves then there there's these they they're thing things think this
    those through thus to too try trying under until up upon us use used using very via want wanted
    wants was wasn't way we we're well were weren't what what's when when's where where's whether
    which while who who's whom whose why will with within without won't would wouldn't yes yet you
    you'd you'll you're you've your yours yourself
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words without a subject. The score drops frequent words of other languages."""


def words_of(prompt: str) -> set[str]:
    """Return the words of a prompt in lower case, without stop words and numbers."""
    all_words = (word.replace("’", "'") for word in _WORD.findall(prompt[:_CHARACTERS].lower()))
    return {word for word in all_words if word not in STOP_WORDS}


def typical_words(
    groups: Sequence[Sequence[str]], most: int = WORDS_AT_MOST
) -> list[tuple[str, ...]]:
    """Return the words typical of each group of prompts, the most typical first.

    The score is p · ln(p / q), a word's part of the Kullback-Leibler divergence of the group from
    the rest: p and q are the shares of the group's prompts and of all others that contain the word,
    with half a prompt added to each count and one to each size. Like tf-idf, it prefers words that
    are frequent in the group and rare elsewhere. Words of a single prompt are left out unless the
    group has fewer than three.
    """
    counts: list[Counter[str]] = []
    for group in groups:
        held: Counter[str] = Counter()
        for prompt in group:
            held.update(words_of(prompt))
        counts.append(held)
    everywhere: Counter[str] = Counter()
    for held in counts:
        everywhere.update(held)
    total = sum(map(len, groups))
    typical = []
    for group, held in zip(groups, counts, strict=True):
        least = 1 if len(group) < 3 else 2
        scored = []
        for word, count in held.items():
            inside = (count + 0.5) / (len(group) + 1)
            outside = (everywhere[word] - count + 0.5) / (total - len(group) + 1)
            if count >= least and inside > outside:
                scored.append((-inside * log(inside / outside), word))
        typical.append(tuple(word for _, word in sorted(scored)[:most]))
    return typical
