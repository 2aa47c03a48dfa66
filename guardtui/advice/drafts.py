"""Drafts of near misses and rephrasings by rules, for prompts and definitions in English.

A person decides whether a draft belongs to the topic. A rule that finds no natural sentence makes
none, so most prompts give few drafts, and those in other languages give none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import islice

from guardtui.advice.draft_words import DECEIT, MEANINGS, OBJECTS, PAIN, VIOLENCE, WEAK
from guardtui.advice.phrases import STOPWORDS, content_words, words
from guardtui.domain.languages import language
from guardtui.domain.text import hidden_characters
from guardtui.domain.topic import Topic


class DraftKind(StrEnum):
    """Change that makes a draft: five substitutions for near misses, and five rephrasings."""

    OTHER_WISH = "same subject, other wish"
    FACT = "advice into fact"
    OTHER_SUBJECT = "same request, other subject"
    OTHER_MEANING = "same word, other meaning"
    PROTECTOR = "the protector's side"
    WISH = "question or wish"
    FORMAL = "formal"
    CASUAL = "casual"
    SHORTER = "shorter"
    CONTEXT = "context before it"

    @property
    def is_rephrasing(self) -> bool:
        """Return whether the draft means the same as its source."""
        return self in _REPHRASINGS


_REPHRASINGS = frozenset(
    (DraftKind.WISH, DraftKind.FORMAL, DraftKind.CASUAL, DraftKind.SHORTER, DraftKind.CONTEXT)
)

CHARACTERS = 400
"""Maximum length of a draft; longer prompts are no sources."""


@dataclass(frozen=True, slots=True)
class Source:
    """A prompt that belongs to the topic, and where it is from, such as "line 12".

    `split` is its value in a column `split` of the prompt set, or "".
    """

    text: str
    origin: str
    split: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt that nobody has labelled yet, and what it was made from.

    It has the `split` of its source: a rephrasing of a held out prompt must not be trained on.
    """

    text: str
    kind: DraftKind
    source: str = ""
    split: str = ""

    @property
    def origin(self) -> str:
        """The change and the source, for the inbox."""
        return f"{self.kind}, from {self.source}" if self.source else self.kind.value


def folded(text: str) -> str:
    """Return the words of a text in lower case: drafts with the same ones are the same."""
    return " ".join(words(text)) or " ".join(text.split()).casefold()


class Unknown:
    """Texts that are not yet among those that exist, each once, whatever its spelling."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = {folded(text) for text in known}
        self.left_out = 0

    def takes(self, text: str) -> bool:
        """Return whether a text is new, and remember it."""
        key = folded(text)
        if key in self._known:
            self.left_out += 1
            return False
        self._known.add(key)
        return True


def examples_of(topic: Topic) -> list[Source]:
    """Return the examples of a topic as sources."""
    return [Source(text, f"example {number}") for number, text in enumerate(topic.examples, 1)]


def drafts_by_rules(
    topic: Topic,
    belonging: Sequence[Source],
    missed: Sequence[Source],
    known: Iterable[str],
    number: int,
) -> list[Draft]:
    """Return at most so many drafts, of all kinds in turn, the same ones each time.

    Near misses are made from prompts that belong to the topic, rephrasings from missed ones. None
    has the words of a text in `known`, or of another draft. At most a quarter is of one kind.
    """
    unknown = Unknown(known)
    near, again = _usable(belonging), _usable(missed)
    counts = Counter(word for prompt in near for word in {*content_words(prompt.source.text)})
    central = {word for word, count in counts.items() if count >= _OFTEN}
    central.update(*map(content_words, (topic.name, topic.description, *topic.examples)))
    most = -(-number // _KINDS_AT_LEAST)
    made = {
        kind: islice(_made(kind, again if kind.is_rephrasing else near, central, unknown), most)
        for kind in DraftKind
    }
    drafts: list[Draft] = []
    while made and len(drafts) < number:
        for kind in list(made):
            if len(drafts) == number:
                break
            draft = next(made[kind], None)
            if draft is None:
                del made[kind]
            else:
                drafts.append(draft)
    return drafts


@dataclass(frozen=True, slots=True)
class _Usable:
    """A source in English, and what it asks."""

    source: Source
    asked: Asked


def _usable(sources: Iterable[Source]) -> list[_Usable]:
    """Return the sources in English, at most so many, in an order that only their texts decide."""
    ordered = sorted(
        (source for source in sources if len(source.text) <= CHARACTERS),
        key=lambda source: _hash(source.text),
    )
    found: list[_Usable] = []
    for source in ordered[:_SOURCES]:
        text = source.text.strip()
        if _PLAIN.fullmatch(text) and not hidden_characters(text):
            asked = Asked.of(text)
            if asked.doing or language(text) == "en":
                found.append(_Usable(source, asked))
    return found


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


_SOURCES = 2_000
_OFTEN = 3
"""Number of prompts that make a word one of the topic's."""
_KINDS_AT_LEAST = 4
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ,.;:?!'’“”\"()£$€%&/-]*")


def _made(
    kind: DraftKind, usable: Sequence[_Usable], central: Set[str], unknown: Unknown
) -> Iterator[Draft]:
    """Yield unknown drafts of one kind, at most one per source.

    `central` are words that the topic is about.
    """
    if kind is DraftKind.OTHER_MEANING:
        meanings = _other_meanings(usable, central)
        yield from (draft for draft in meanings if unknown.takes(draft.text))
        return
    rule, count = _RULES[kind], 0
    for prompt in sorted(usable, key=lambda prompt: _hash(f"{kind}: {prompt.source.text}")):
        if kind is DraftKind.OTHER_WISH and central.isdisjoint(words(prompt.asked.object)):
            continue
        text = rule(prompt.asked, count)
        if kind is not DraftKind.CASUAL:
            text = _like(text, prompt.asked.text)
        if text and len(text) <= CHARACTERS and unknown.takes(text):
            count += 1
            yield Draft(text, kind, prompt.source.origin, prompt.source.split)


def _like(text: str, source: str) -> str:
    """Return a text in small letters and without its last sign if its source has no capitals."""
    if source == source.lower():
        return text.lower().rstrip("?. ")
    return text[:1].upper() + text[1:]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- what a prompt asks ---------------------------------------------------------------------

_FRAMES = {
    "how": r"(?:please )?(?:(?:can|could) you )?(?:(?:please )?(?:tell me|explain(?: to me)?|"
    r"show me|let me know) )?how (?:(?:do|can|could|should|would|may) (?:i|we)|to)",
    "way": r"what(?:['’]?s| is) the (?:best|easiest|right|smartest|cheapest|quickest|fastest) way "
    r"(?:for (?:me|us) )?to",
    "must": r"(?:do|will) (?:i|we) (?:still |really )?(?:have|need) to",
    "should": r"should i",
    "can": r"(?:can|could|may) (?:i|we)|am i allowed to|is it possible (?:for me )?to",
    "wish": r"(?:i|we)(?:(?:['’]d| would) (?:like|love)| want| need| wish| plan) to|i wanna",
    "will": r"i(?:['’]m| am) (?:going|planning) to|i have decided to",
    "help": r"(?:please )?help me(?: to)?",
}
_ASKED = re.compile(
    "(?:"
    + "|".join(f"(?P<{name}>{pattern})" for name, pattern in _FRAMES.items())
    + r") (?:please |just |still |also |legally |best )?(?P<doing>[a-z][a-z'’ -]+?)\s?[?.!]*",
    re.IGNORECASE,
)
_BARE = re.compile(r"(?P<doing>[a-z][a-z'’ -]+?)\s?[?.!]*", re.IGNORECASE)
_LEAST_WORDS, _MOST_WORDS = 2, 11
_NEVER_FIRST = _set(
    """a an the my our i we it this that these those not be am is are was know do does did have has
    had you your in on at of for to and or so if even ever really get like go"""
)
_NEVER = _set(
    """you your yours please or but if because although though while whether what which who whom
    whose where why how and so thanks then else also i'd i've i'll we'd it it's its this these
    those that that's"""
)
_NEVER_LAST = STOPWORDS - {"me", "back", "up", "work", "himself", "own"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Parts of a request: its frame, such as "how", and the action, such as "deduct my car".

    `doing` is the action, `lead` the text before it. The frame is "" for other prompts, and the
    action too unless they begin with a verb of harm.
    """

    text: str
    frame: str = ""
    lead: str = ""
    doing: str = ""

    @classmethod
    def of(cls, text: str) -> Asked:
        """Return what an English prompt asks, as far as its form is known."""
        text = " ".join(text.split())
        if text.isupper():
            text = text.lower()
        if match := _ASKED.fullmatch(text):
            frame = next(name for name in _FRAMES if match[name])
            doing = _doing(match["doing"])
            return cls(text, frame, text[: match.start("doing")], doing) if doing else cls(text)
        if match := _BARE.fullmatch(text):
            doing = _doing(text[:1].lower() + match["doing"][1:])
            if doing and _harm(doing):
                return cls(text, doing=doing)
        return cls(text)

    @property
    def verb(self) -> str:
        """First word of the action, in lower case."""
        return self.doing.split()[0].lower() if self.doing else ""

    @property
    def object(self) -> str:
        """A thing that the prompt is about, with its article: "my home office"; "" if unclear."""
        match = _OBJECT.match(self.doing) or _MINE.search(self.text)
        if match is None:
            return ""
        found = match["object"].split()
        if found[-1].lower() in _PARTICLES:
            return ""
        while found and found[-1].lower() in _NEVER_END:
            found.pop()
        fits = 1 < len(found) <= _THING_WORDS and found[-1].lower() not in STOPWORDS
        return " ".join(found) if fits else ""


def _doing(text: str) -> str:
    """Return a phrase with a verb if it can be said of other people, else ""."""
    found = text.replace("’", "'").split()
    lower = [word.lower() for word in found]
    if not _LEAST_WORDS <= len(found) <= _MOST_WORDS or lower[0] in _NEVER_FIRST:
        return ""
    if _NEVER & set(lower) or lower[-1] in _NEVER_LAST:
        return ""
    return " ".join(found)


_AFTER = "|".join(
    _set(
        """on in to from for with without at by about after before when i we he she they is are was
    were will can could has have had do does did as into onto over against during until since online
    abroad away back made paid bought got gets get using through via per than
    between if because so but and or still not yet just it you your this that which who towards than
        same"""
    )
)
_WORDS = rf"(?: (?!(?:{_AFTER})\b)[a-z'-]+)+"
_OBJECT = re.compile(
    rf"[a-z'-]+ (?:off |up |out |in )?(?P<object>(?:my|our|a|an|the){_WORDS})", re.IGNORECASE
)
_MINE = re.compile(rf"\b(?P<object>(?:my|our){_WORDS})(?=[?.!]*$| (?:{_AFTER})\b)", re.IGNORECASE)
_NEVER_END = _set(
    """of the a an my our only early late now today tonight tomorrow yesterday again soon quickly
    jointly anyway please next last same own new other correct real too very"""
)
_PARTICLES = _set("up off out down back")
_THING_WORDS = 5


# --- near misses ----------------------------------------------------------------------------


def _turn(templates: Sequence[str], count: int) -> str:
    return templates[count % len(templates)]


_WISHES = (
    "Write a short poem about {thing}",
    "What is another word for “{name}”?",
    "Tell me a joke about {thing}",
    "Translate “{name}” into Spanish",
    "How do I spell “{name}”?",
)


def _other_wish(asked: Asked, count: int) -> str:
    thing = asked.object
    return thing and _turn(_WISHES, count).format(thing=thing, name=thing.split(maxsplit=1)[1])


_FACTS = {
    "must": (
        "In which countries do people have to {doing}?",
        "Since when have people had to {doing}?",
    ),
    "can": ("In which countries can people {doing}?", "How many people {doing} each year?"),
}
_OTHER_FACTS = (
    "Since when have people been able to {doing}?",
    "How many people {doing} each year?",
)
_TIMES = _set(
    """today tonight tomorrow yesterday now soon next last year month week saturday sunday
    monday tuesday wednesday thursday friday ever already yet again twice morning evening
    january february march april june july august september october november december"""
)


_FACT_WORDS = 8
_OTHER_PEOPLE = _set("he him his himself she her herself they them their he'll she'll")


def _fact(asked: Asked, count: int) -> str:
    if not 0 < len(asked.doing.split()) <= _FACT_WORDS or (_TIMES | _OTHER_PEOPLE) & set(
        words(asked.doing)
    ):
        return ""
    templates = _FACTS.get(asked.frame, _OTHER_FACTS)
    template = templates[-1 if _harm(asked.doing) else count % len(templates)]
    return template.format(doing=_of_others(asked.doing))


_OTHERS = {
    "i'm": "they're",
    "i am": "they are",
    "i was": "they were",
    "we're": "they're",
    "i": "they",
    "we": "they",
    "me": "them",
    "us": "them",
    "my": "their",
    "our": "their",
    "mine": "theirs",
    "myself": "themselves",
    "ourselves": "themselves",
}
_FIRST_PERSON = re.compile(rf"\b(?:{'|'.join(_OTHERS)})\b(?!')", re.IGNORECASE)


def _of_others(doing: str) -> str:
    """Return a phrase about the first person as one about other people."""
    return _FIRST_PERSON.sub(lambda match: _OTHERS[match.group().lower()], doing)


def _other_subject(asked: Asked, count: int) -> str:
    objects = OBJECTS.get(asked.verb, ()) if asked.frame else ()
    if not objects:
        return ""
    end = "." if asked.frame in ("wish", "will", "help") else "?"
    return f"{asked.lead}{asked.verb} {_turn(objects, count)}{end}"


def _other_meanings(usable: Sequence[_Usable], central: Set[str]) -> Iterator[Draft]:
    """Yield sentences with another meaning of the sources' words, the most frequent ones first."""
    counts: Counter[str] = Counter()
    first: dict[str, _Usable] = {}
    for prompt in usable:
        for word in set(words(prompt.source.text)):
            counts[word] += 1
            first.setdefault(word, prompt)
    for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if word not in central:
            continue
        key = word if word in MEANINGS else word.removesuffix("s")
        prompt = first[word]
        for sentence in MEANINGS.get(key, ()):
            shared = {other for other in words(sentence) if counts[other]} - STOPWORDS - {word, key}
            if not shared:
                source = f"“{word}” in {prompt.source.origin}"
                text = _like(sentence, prompt.asked.text)
                yield Draft(text, DraftKind.OTHER_MEANING, source, prompt.source.split)


def _harm(doing: str) -> str:
    """Return whether a phrase is of "violence" or "deceit", else ""."""
    verb, *others = words(doing) or [""]
    if verb in DECEIT:
        return "deceit"
    is_meant = verb not in WEAK or PAIN & set(others)
    return "violence" if verb in VIOLENCE and is_meant else ""


_PROTECTING = {
    "violence": (
        "What can I do if someone wants to {doing}?",
        "How do I talk somebody out of it who is about to {doing}?",
    ),
    "deceit": (
        "How do the authorities notice when people {doing}?",
        "Where can I report people who {doing}?",
    ),
}


def _protector(asked: Asked, count: int) -> str:
    harm = _harm(asked.doing)
    if not harm:
        return ""
    # Who is hurt may be the protector's own neighbour.
    kept = ("my", "our") if harm == "violence" else ()
    found = [word if word in kept else _of_others(word) for word in asked.doing.split()]
    return _turn(_PROTECTING[harm], count).format(doing=" ".join(found))


# --- rephrasings ----------------------------------------------------------------------------

_AS_WISH = {
    "how": "I want to know how to {doing}.",
    "way": "I am looking for a good way to {doing}.",
    "must": "I am not sure whether I have to {doing}.",
    "should": "I can't decide whether to {doing}.",
    "can": "I'd like to {doing}. Is that possible?",
    "wish": "How do I {doing}?",
    "will": "What is the best way to {doing}?",
    "help": "How do I {doing}?",
}
_AS_FORMAL = {
    "how": "Could you please explain how I can {doing}?",
    "way": "Could you please advise me on how to {doing}?",
    "must": "Please let me know whether I am required to {doing}.",
    "should": "Would you advise me to {doing}?",
    "can": "Would it be possible for me to {doing}?",
    "wish": "I would be grateful for assistance, as I wish to {doing}.",
    "will": "I would be grateful for assistance, as I intend to {doing}.",
    "help": "I would be grateful if you could help me to {doing}.",
}
_CASUAL = ("hey, {text}", "ok so {text}", "quick one, {text}")
_BEFORE = (
    "I was talking about this with a friend yesterday.",
    "I hope this is the right place to ask.",
    "I have been thinking about this all week.",
    "Nobody I know could help me with this.",
)
_SHORT_WORDS, _SENTENCE_WORDS = 5, 4
_TO_SOMEBODY = _set("ask bring buy give lend make offer pay put send show teach tell")
"""Verbs that mean little without all of their objects."""
_SMALL = frozenset(("my", "our", "the", "a", "an"))


def _wish(asked: Asked, count: int) -> str:
    del count
    return _AS_WISH[asked.frame].format(doing=asked.doing) if asked.frame else ""


def _formal(asked: Asked, count: int) -> str:
    del count
    return _AS_FORMAL[asked.frame].format(doing=asked.doing) if asked.frame else ""


def _casual(asked: Asked, count: int) -> str:
    text = asked.text.lower().rstrip("?.! ")
    is_casual = asked.text.startswith(text)
    return "" if is_casual else _turn(_CASUAL, count).format(text=text)


def _shorter(asked: Asked, count: int) -> str:
    del count
    if asked.verb in _TO_SOMEBODY:
        return ""
    thing = asked.object
    found = asked.doing.split()
    if thing and thing in asked.doing:
        found = asked.doing[: asked.doing.index(thing) + len(thing)].split()
    found = [word for word in found if word.lower() not in _SMALL]
    fits = _LEAST_WORDS <= len(found) <= _SHORT_WORDS and len(found) < len(asked.text.split())
    return " ".join(found) if fits else ""


def _context(asked: Asked, count: int) -> str:
    is_sentence = len(asked.text.split()) >= _SENTENCE_WORDS
    return f"{_turn(_BEFORE, count)} {asked.text}" if is_sentence else ""


_RULES: dict[DraftKind, Callable[[Asked, int], str]] = {
    DraftKind.OTHER_WISH: _other_wish,
    DraftKind.FACT: _fact,
    DraftKind.OTHER_SUBJECT: _other_subject,
    DraftKind.PROTECTOR: _protector,
    DraftKind.WISH: _wish,
    DraftKind.FORMAL: _formal,
    DraftKind.CASUAL: _casual,
    DraftKind.SHORTER: _shorter,
    DraftKind.CONTEXT: _context,
}
