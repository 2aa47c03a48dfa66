"""Language detection of short texts, by script and function words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from guardtui.domain.words import WORDS

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
"""Display names of the languages and scripts that `language` distinguishes."""

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
    """Return a key of `LANGUAGES`, detected by script and function words, or None.

    Text in Latin letters needs at least two function words, and twice as many as of any other
    language.
    """
    letters = len(_LETTER.findall(text))
    if not letters:
        return None
    if not text.isascii():
        for name, script in _OF_SCRIPT.items():
            # Foreign names and brands often stay in Latin letters.
            if len(script.findall(text)) > 0.4 * letters:
                return name
    words = [match.group().lower() for match in WORDS.finditer(text)]
    hits = sorted(
        (
            (sum(word in vocabulary for word in words), name)
            for name, vocabulary in _FUNCTION_WORDS.items()
        ),
        reverse=True,
    )
    (most, best), (second, _) = hits[0], hits[1]
    return best if most >= 2 and most >= 2 * second else None


def odd_languages(texts: Sequence[str]) -> tuple[str, dict[int, str]] | None:
    """Return the most frequent language, and the languages of texts in others by index.

    None if all detected languages agree. Of equally frequent languages the earliest text's counts.
    """
    detected = {index: name for index, text in enumerate(texts) if (name := language(text))}
    names = list(detected.values())
    if len(set(names)) < 2:
        return None
    main = max(dict.fromkeys(names), key=names.count)
    return main, {index: name for index, name in detected.items() if name != main}
