"""Rules of wording, by text alone: what excludes, and which language a text is in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from guardtui.advice.candidates import content_words, pieces, tidied, without
from guardtui.domain.topic import byte_length

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

_EXCLUDING = {
    "en": """not no never neither nor none without except excepting exception excluding exclude
        excludes excluded unless unrelated cannot""",
    "de": "nicht kein keine keinen keiner ohne außer ausser ausgenommen ausgeschlossen",
    "fr": "pas sans sauf excepté hormis jamais aucun aucune",
    "es": "excepto salvo sin no nunca ningún ninguna",
    "it": "tranne eccetto senza non mai",
    "pt": "exceto salvo sem não nunca",
    "nl": "niet geen zonder behalve nooit",
}
_EXCLUDING_WORDS = {name: frozenset(words.split()) for name, words in _EXCLUDING.items()}
_PAIRS = {
    ("other", "than"),
    ("rather", "than"),
    ("instead", "of"),
    ("apart", "from"),
    ("aside", "from"),
    ("anything", "but"),
    ("all", "but"),
}
_HARMLESS_AFTER = {
    "not": frozenset({"only", "just", "merely", "limited"}),
    "no": frozenset({"matter", "longer"}),
}
_LEADING_IN = """
    do does did is are was were be being has have had should must shall will would can could may
    might but and or that which who if they it those these ones anything
"""
_LEADS_IN = frozenset(_LEADING_IN.split())
_BUT = re.compile(r"^\W*but\s+|\W+but\W*$", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.;:!?)–—]|,?\s+but\s+(?!not\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A word, or two, that exclude: which, as how manieth word (from 1), and where it stands."""

    text: str
    word: int
    start: int
    stop: int


def exclusions(text: str) -> tuple[Exclusion, ...]:
    """Wording that excludes, in order; “not only”, “no matter” and “whether or not” do not."""
    tokens = [(match.group().lower().replace("’", "'"), match) for match in _WORD.finditer(text)]
    words = _EXCLUDING_WORDS["en"] | _EXCLUDING_WORDS.get(language(text) or "en", frozenset())
    found = []
    for place, (word, match) in enumerate(tokens):
        after = tokens[place + 1] if place + 1 < len(tokens) else ("", match)
        before = tokens[place - 1][0] if place else ""
        stop = match.end()
        if (word, after[0]) in _PAIRS:
            stop = after[1].end()
        elif word == "non":
            # "non-medical"; in French and Italian "non" is a word of its own.
            if text[stop : stop + 1] != "-" and "non" not in words:
                continue
        elif not word.endswith("n't") and (
            word not in words
            or after[0] in _HARMLESS_AFTER.get(word, ())
            or (word == "not" and before == "or")
        ):
            continue
        found.append(Exclusion(text[match.start() : stop], place + 1, match.start(), stop))
    return tuple(found)


def without_exclusions(text: str) -> str | None:
    """The text without what it excludes, up to the end of each clause; None when nothing is left.

    A light rule and no grammar: it serves to measure what the wording does.
    """
    rest = text
    while found := exclusions(rest):
        first = found[0]
        start = first.start
        for match in reversed(list(_WORD.finditer(rest[:start]))):
            if match.group().lower() not in _LEADS_IN or rest[match.end() : start].strip(" ,"):
                break
            start = match.start()
        end = _CLAUSE_END.search(rest, first.stop)
        shorter = _BUT.sub("", without(rest, start, end.start() if end else len(rest)))
        shorter = tidied(shorter, rest)
        if len(shorter) >= len(rest) or not content_words(shorter):
            return None
        rest = shorter
    return rest


def shortened(text: str, limit: int) -> str | None:
    """The longest beginning of a text within `limit` bytes that ends with a phrase, or a word.

    None when not even its first word fits.
    """
    ends = [stop for _, stop in pieces(text)]
    ends += [match.end() for match in _WORD.finditer(text)]
    for candidates in (ends[: len(ends) - len(_WORD.findall(text))], ends):
        for stop in sorted(candidates, reverse=True):
            start = text[:stop].strip()
            # Half of the limit: a first phrase of a few words says too little.
            least = limit // 2 if candidates is not ends else 1
            if least <= byte_length(start) <= limit and content_words(start):
                return start
    return None


LANGUAGES = {
    "ar": "Arabic script",
    "cyrl": "Cyrillic script",
    "de": "German",
    "deva": "Devanagari script",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "grek": "Greek",
    "han": "Chinese or Japanese",
    "hang": "Korean",
    "hebr": "Hebrew",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
    "thai": "Thai",
}
"""Names of what `language` tells apart."""

_SCRIPTS = {
    "cyrl": "\u0400-\u052f",
    "grek": "\u0370-\u03ff\u1f00-\u1fff",
    "hebr": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff",
    "deva": "\u0900-\u097f",
    "thai": "\u0e00-\u0e7f",
    "hang": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "han": "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
}
_OF_SCRIPT = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}
_LETTER = re.compile(r"[^\W\d_]")

# Function words that are frequent in one of the languages and rare in the others.
_FUNCTION = {
    "en": """the and of to is are was my you your it that this what how can do does i for with on
        or about from would should have has be not which when who we their they if any""",
    "de": """der die das und ist ich nicht wie kann mein meine mit für auf ein eine einen dem den
        von zu wird oder über bei sich aus wenn muss darf soll wir sie es im am""",
    "fr": """le la les et est je ne pas comment puis mon ma mes avec pour sur un une des du au aux
        que qui dans ce cette vous nous ou où quel quelle peut""",
    "es": """el la los las y es yo cómo puedo mi mis con para por un una del al que en se lo su
        qué cuál está son si debo tengo hay más""",
    "it": """il lo la gli e è io non come posso mio mia con per su un una del della di che nel si
        sono devo ho quale questo anche le dei""",
    "pt": """o os as e é eu não como posso meu minha com para por um uma do da dos das que no na
        em se são devo tenho qual isso mais""",
    "nl": """de het en is ik niet hoe kan mijn met voor op een van zijn dat die wat moet ook aan
        er bij naar als maar om te wel geen""",
}
_FUNCTION_WORDS = {name: frozenset(words.split()) for name, words in _FUNCTION.items()}


def language(text: str) -> str | None:
    """A key of `LANGUAGES`, by script and by function words; None where these do not tell.

    Of a text in Latin letters at least two function words are asked for, and twice as many as of
    any other language.
    """
    letters = len(_LETTER.findall(text))
    if not letters:
        return None
    if not text.isascii():
        for name, script in _OF_SCRIPT.items():
            # Foreign names and brands are often left in Latin letters.
            if len(script.findall(text)) > 0.4 * letters:
                return name
    words = [match.group().lower() for match in _WORD.finditer(text)]
    hits = sorted(
        ((sum(word in known for word in words), name) for name, known in _FUNCTION_WORDS.items()),
        reverse=True,
    )
    (most, best), (second, _) = hits[0], hits[1]
    return best if most >= 2 and most >= 2 * second else None


def odd_languages(texts: Sequence[str]) -> tuple[str, dict[int, str]] | None:
    """The language that most texts are in, and the places of texts in others with theirs.

    None when all whose language is told agree; of equals the one of the earliest text counts.
    """
    told = {place: name for place, text in enumerate(texts) if (name := language(text))}
    names = list(told.values())
    if len(set(names)) < 2:
        return None
    main = max(dict.fromkeys(names), key=names.count)
    return main, {place: name for place, name in told.items() if name != main}
