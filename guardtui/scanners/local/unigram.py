"""A SentencePiece Unigram tokenizer: the most likely pieces of each word (Kudo, 2018).

The library `tokenizers` reads such a vocabulary too, but builds its tree in one call of 0.3 s that
holds the interpreter, and so the screen. Here a word's pieces are searched once and remembered.
"""

from __future__ import annotations

from collections.abc import Sequence

from guardtui.scanners.local.encoder import import_library

UNKNOWN, BEGIN, END = range(3)
"""Ids of the special pieces, which come first in the vocabulary."""
_SPACE = "\u2581"  # represents a blank at the start of a word
_UNKNOWN_COST = 10.0  # difference of an unknown character's score to that of the rarest piece
_WORDS_AT_MOST = 50_000


class Unigram:
    """Converts texts to ids of pieces. Safe to call from several threads at once."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], charsmap: bytes) -> None:
        """Store the pieces in the order of their ids, their scores, and the normalisation table.

        Raises `EncoderError` without the library that normalises.
        """
        self._normalizer = import_library("tokenizers.normalizers").Precompiled(charsmap)
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        for piece in pieces[: END + 1]:
            del self._ids[piece]
        self._scores = scores
        self._unknown = min(scores) - _UNKNOWN_COST
        self._longest = max(map(len, pieces))
        self._words: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text's pieces, between those of its begin and its end."""
        ids = [BEGIN]
        for word in self._normalizer.normalize_str(text).split(" "):
            if word:
                ids += self._words.get(word) or self._remember(word)
        if len(ids) == 1:
            ids.append(UNKNOWN)
        ids.append(END)
        return ids

    def _remember(self, word: str) -> list[int]:
        if len(self._words) >= _WORDS_AT_MOST:
            self._words = {}
        ids = self._words[word] = self._best(_SPACE + word)
        return ids

    def _best(self, word: str) -> list[int]:
        """Return the ids of the pieces with the largest sum of scores (Viterbi)."""
        length = len(word)
        best = [0.0] + [float("-inf")] * length
        start_of = [0] * (length + 1)
        id_of = [UNKNOWN] * (length + 1)
        for start in range(length):
            base = best[start]
            for stop in range(start + 1, min(start + self._longest, length) + 1):
                piece = self._ids.get(word[start:stop])
                if piece is not None:
                    score = base + self._scores[piece]
                elif stop == start + 1:
                    score = base + self._unknown
                else:
                    continue
                if score > best[stop]:
                    best[stop], start_of[stop] = score, start
                    id_of[stop] = UNKNOWN if piece is None else piece
        ids: list[int] = []
        stop = length
        while stop:
            ids.append(id_of[stop])
            stop = start_of[stop]
        return ids[::-1]
