"""The language of a text, and the languages that each encoder was trained on."""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Any

ENGLISH = frozenset({"en"})
LEARNT = {
    "minilm": ENGLISH,
    "static": ENGLISH,
    "pair": ENGLISH.union(
        *(("ar", "de", "es", "fr", "it", "ja", "ko"), ("nl", "pl", "pt", "ru", "th", "tr", "zh"))
    ),
}
"""ISO 639-1 codes of the languages that each encoder was trained on."""

NAMES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "gu": "Gujarati",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ka": "Georgian",
    "km": "Khmer",
    "kn": "Kannada",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "ml": "Malayalam",
    "mr": "Marathi",
    "ms": "Malay",
    "my": "Burmese",
    "ne": "Nepali",
    "nl": "Dutch",
    "pa": "Punjabi",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "si": "Sinhala",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "sw": "Swahili",
    "ta": "Tamil",
    "te": "Telugu",
    "th": "Thai",
    "tl": "Tagalog",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "ur": "Urdu",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
"""English names of the identified languages, by their codes."""

READ_AT_MOST = 2_000
"""Maximum number of examined characters."""

SURE = 0.5
"""Least probability of an identified language.

Measured on the fit set (4,816 prompts in 21 languages) for "not learnt by `pair`": 239 of the 252
prompts in other languages are detected, and no other prompt; of 7,750 short English prompts, 2.
"""

# The identifier takes half a second and 100 MB: it is loaded only for text that is not English.
_PLAINLY_ENGLISH = re.compile(
    r"\b(?:the|what|how|my|you|your|with|and|this|are|should|would|which|when|where|does|their)\b",
    re.IGNORECASE,
)
_ENGLISH_WORDS = 2
_LOADING = threading.Lock()  # threads that need it at the same moment load it once


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, or "" if it is uncertain.

    Takes about 0.1 ms; the first text that is not plainly English takes 0.6 s.
    """
    part = text[:READ_AT_MOST]
    words = {match.lower() for match in _PLAINLY_ENGLISH.findall(part)}
    if part.isascii() and len(words) >= _ENGLISH_WORDS:
        return "en"
    if not any(character.isalpha() for character in part):
        return ""
    with _LOADING:
        identifier = _identifier()
    ranked = identifier.rank(part.encode("utf-8", "replace").decode("utf-8"))
    # Of all its languages; restricting it to these would copy its table, 11 MB.
    shares = {code: share for code, share in ranked if code in NAMES}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= SURE * sum(shares.values()) else ""


def language_not_learnt(encoder_name: str, text: str) -> str:
    """Return the English name of a text's language if the encoder was not trained on it, or ""."""
    code = language_of(text)
    return "" if not code or code in LEARNT[encoder_name] else NAMES[code]


@cache
def _identifier() -> Any:
    # The module-level functions share one identifier, which other code could restrict.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
