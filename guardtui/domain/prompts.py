"""The prompt set: labelled prompts as columns, their validation, and keys by content."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.findings import Finding, Severity, located
from guardtui.domain.prompt_reading import Unlabelled
from guardtui.domain.text import display_start, hidden_characters
from guardtui.domain.topic import Intent, Topic

REQUIRED = ("prompt", "expected", "intent")
PROMPT_BYTES = 1024 * 1024
"""A longer prompt indicates a broken file."""

IMBALANCE = 0.8
"""A class with a larger share than this causes a warning."""

LISTED = 20
"""Maximum number of errors and lines that are listed; the rest is only counted."""

LARGE = 200_000
"""Prompts above which reports list only the wrong ones, and the app opens a sample."""

SAMPLE = "sample"
"""Code of the finding that says the prompts are a sample of a larger set."""

CHOSEN_SHARE = 0.05
"""Share of prompts chosen for the edits from which they make a prompt set noticeably harder."""

UNLABELLED = "unlabelled"
"""Code of the finding that counts rows without a label."""

HEADER = "the header"
TRUE = ("true", "yes", "1", "1.0", "t", "y")
FALSE = ("false", "no", "0", "0.0", "f", "n")
SPREADSHEET_TRUE = (
    "wahr", "vrai", "vero", "verdadero", "verdadeiro", "waar", "sand", "sant", "tosi", "prawda",
    "pravda", "igaz", "истина", "doğru",
)  # fmt: skip
"""How spreadsheets in other languages write TRUE, in lower case."""
_RARE = 5
_NAME_SHOWN = 60  # characters of a category in a message
_BLANKS = r"\s+"


class PromptSetError(GuardtuiError, ValueError):
    """A prompt set that cannot be used; `findings` are the first 20 of `total` errors."""

    exit_code = 2

    def __init__(self, source: str, findings: Sequence[Finding], total: int | None = None) -> None:
        self.source = source
        self.total = len(findings) if total is None else total
        self.findings = tuple(findings[:LISTED])
        super().__init__(self._text())

    def __reduce__(self) -> tuple[type[PromptSetError], tuple[str, tuple[Finding, ...], int]]:
        # By default, an exception is pickled as its text, from which it cannot be rebuilt.
        return type(self), (self.source, self.findings, self.total)

    def _text(self) -> str:
        lines = [located(self.source, finding.message, finding.lines) for finding in self.findings]
        if self.total > len(self.findings):
            lines.append(f"… and {self.total - len(self.findings)} errors more")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class PromptSet:
    """Labelled prompts that passed validation.

    `frame` has the columns key (UInt64), line (UInt32, where the row starts in its file), prompt
    (String), expected (Boolean), then every other column of the file under its own name (String).
    `intent_given` says whether the file contains the intent; otherwise it is the topic's.
    `left_out` are findings about rows without a label; they are among `findings`. `read_only` says
    whether the format of the file can be read but not written. `waiting` are the keys of prompts
    that wait for a label, as rows of the file or in its inbox. `chosen` is the number of labelled
    ones that the queue chose for the edits.
    """

    frame: pl.DataFrame
    intent: Intent
    source: str
    findings: tuple[Finding, ...] = ()
    intent_given: bool = True
    left_out: tuple[Finding, ...] = ()
    read_only: bool = False
    waiting: frozenset[int] = frozenset()
    chosen: int = 0

    def __len__(self) -> int:
        return self.frame.height

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """Keys that identify each prompt by its content, uint64 [N]; unique."""
        return self.frame["key"].to_numpy()

    @cached_property
    def _sorted_keys(self) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        order = np.argsort(self.keys)
        return self.keys[order], order

    def row_of(self, key: int) -> int | None:
        """Return the row index of a key (binary search), or None."""
        ordered, rows = self._sorted_keys
        index = int(np.searchsorted(ordered, np.uint64(key)))
        known = index < len(ordered) and int(ordered[index]) == key
        return int(rows[index]) if known else None

    @property
    def prompts(self) -> pl.Series:
        """The texts, String [N]."""
        return self.frame["prompt"]

    @cached_property
    def lower_prompts(self) -> pl.Series:
        """The texts in lower case, String [N], for case-insensitive search."""
        return self.prompts.str.to_lowercase()

    @cached_property
    def expected(self) -> NDArray[np.bool_]:
        """The labels, bool [N]: whether the prompt belongs to the topic."""
        return self.frame["expected"].to_numpy()

    def should_trigger(self, intent: Intent | None = None) -> NDArray[np.bool_]:
        """Return whether the guardrail should trigger, bool [N]; intent by default the set's."""
        block = (intent or self.intent) is Intent.BLOCK
        return self.expected if block else ~self.expected

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (64 hex digits) of prompts, labels and intent, in order."""
        return fingerprint_of(self.intent, self.keys, self.expected)

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """The file's columns besides prompt, expected and intent."""
        return tuple(self.frame.columns[4:])

    @cached_property
    def category_column(self) -> str | None:
        """The column named category, ignoring case, or None."""
        return next((name for name in self.extra_columns if name.lower() == "category"), None)

    def groups(self, column: str) -> tuple[NDArray[np.int32], list[str]]:
        """Return the group of each row, int32 [N], and the sorted group names; "" is "(none)"."""
        if column not in self._groups:
            values = self.frame[column].fill_null("").replace("", "(none)")
            names = values.unique().sort().to_list()
            codes = values.replace_strict(names, list(range(len(names))), return_dtype=pl.Int32)
            self._groups[column] = codes.to_numpy(), names
        return self._groups[column]

    @cached_property
    def _groups(self) -> dict[str, tuple[NDArray[np.int32], list[str]]]:
        return {}


def fingerprint_of(intent: Intent, keys: NDArray[np.uint64], expected: NDArray[np.bool_]) -> str:
    """Return the SHA-256 (hex) of intent, keys (uint64 [N]) and labels (bool [N]), in order."""
    digest = hashlib.sha256(intent.value.encode())
    digest.update(keys.tobytes())
    digest.update(expected.tobytes())
    return digest.hexdigest()


def prompt_keys(prompts: Sequence[str]) -> NDArray[np.uint64]:
    """Return keys by content, uint64 [N]: hashes of the text and its occurrence number.

    They are stable across runs, so that rows align by content and duplicates pair up in order.
    """
    hashes = bytearray()
    for prompt in prompts:
        text = prompt.encode("utf-8", "surrogatepass")
        hashes += hashlib.blake2b(text, digest_size=8).digest()
    digests = np.frombuffer(bytes(hashes), np.uint64)
    order = np.argsort(digests, kind="stable")
    ordered = digests[order]
    repeats = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    if not len(repeats):
        return digests
    keys = digests.copy()
    occurrence, before = 0, -1
    for position in repeats.tolist():
        occurrence = occurrence + 1 if position == before + 1 else 1
        before = position
        content = ordered[position].tobytes() + occurrence.to_bytes(4, "little")
        repeat = hashlib.blake2b(content, digest_size=8)
        keys[order[position]] = np.frombuffer(repeat.digest(), np.uint64)[0]
    return keys


def build_prompt_set(
    raw: pl.DataFrame,
    lines: NDArray[np.uint32],
    source: str,
    intent: Intent | None = None,
    header: str = HEADER,
    unlabelled: Unlabelled = Unlabelled.ERROR,
) -> PromptSet:
    """Build a prompt set from a file's columns (String [N]) and line numbers (uint32 [N]).

    `intent` applies if the file gives none; if neither gives one, that is an error. Rows with an
    empty intent take that of the others. `header` describes the source of the columns in messages.
    `unlabelled` says what rows without a label are. Raises `PromptSetError` with all errors of the
    file together.
    """
    # Errors of the header come first.
    names = _known_columns(raw.columns, source, intent, header)
    if raw.height == 0:
        finding = Finding(
            Severity.ERROR, "empty", "no rows: add prompts under the header (guardtui sample)"
        )
        raise PromptSetError(source, [finding])
    notes: tuple[Finding, ...] = ()
    waiting = frozenset[int]()
    if unlabelled is Unlabelled.INBOX:
        texts = raw.filter(pl.Series(unlabelled_rows(raw[names["expected"]])))[names["prompt"]]
        texts = texts.drop_nulls().filter(texts.drop_nulls().str.strip_chars() != "").unique()
        waiting = frozenset(prompt_keys(texts.to_list()).tolist())
    if unlabelled is not Unlabelled.ERROR:
        raw, lines, notes = _without_label(raw, lines, names["expected"], unlabelled)
        if raw.height == 0:
            message = "no row has a label: label some"
            raise PromptSetError(source, [Finding(Severity.ERROR, "empty", message)])
    expected = pl.col(names["expected"]).fill_null("").str.strip_chars()
    given_intent = pl.col(names["intent"]) if "intent" in names else pl.lit("")
    frame = raw.select(
        pl.Series("line", lines, dtype=pl.UInt32),
        pl.col(names["prompt"]).fill_null("").alias("prompt"),
        expected.alias("_expected"),
        expected.str.to_lowercase().alias("_label"),
        given_intent.fill_null("").str.strip_chars().str.to_lowercase().alias("_intent"),
    )
    # Rows without an intent have that of the others, or of the topic.
    intents = frame["_intent"].filter(frame["_intent"] != "")
    first = intents[0] if len(intents) else "" if intent is None else intent.value
    frame = frame.with_columns(pl.col("_intent").replace("", first))
    errors, count = _row_errors(frame, source)
    if errors:
        raise PromptSetError(source, errors, count)
    intent = Intent(first)
    labels = frame["_label"].is_in(TRUE)
    if classes := missing_class(labels):
        raise PromptSetError(source, [classes])
    result = pl.DataFrame(
        [
            pl.Series("key", prompt_keys(frame["prompt"].to_list()), dtype=pl.UInt64),
            frame["line"],
            frame["prompt"],
            labels.alias("expected"),
            *(
                raw[name].fill_null("").alias(_own_name(name, raw.columns))
                for name in raw.columns
                if name not in names.values()
            ),
        ]
    )
    prompts = PromptSet(
        result,
        intent,
        source,
        intent_given=bool(len(intents)),
        left_out=notes,
        waiting=waiting.difference(result["key"].to_list() if waiting else ()),
    )
    return replace(prompts, findings=check_prompt_set(prompts, None))


def split_column(names: Iterable[str]) -> str | None:
    """Return the name of the column `split` among those of a prompt file, or None."""
    return next((name for name in names if name.strip().lower() == "split"), None)


def waiting_text(prompts: PromptSet) -> str:
    """Return how many prompts wait for a label, as a sentence without its stop, or ""."""
    count = len(prompts.waiting)
    if not count:
        return ""
    return f"{count_text(count, 'unlabelled prompt')} {'is' if count == 1 else 'are'} in no figure"


def chosen_caution(prompts: PromptSet) -> str:
    """Return that intervals are not of prompts as users write them, as a sentence, or "".

    The queue chooses prompts of which the engine is least sure: where they are many, the set is
    harder than production.
    """
    if not prompts.chosen or prompts.chosen < CHOSEN_SHARE * len(prompts):
        return ""
    return (
        f"{prompts.chosen:,} of {len(prompts):,} prompts were chosen since they teach edits "
        "most: intervals are of prompts like these, which are harder than those of production"
    )


def unlabelled_rows(labels: pl.Series) -> NDArray[np.bool_]:
    """Return which labels (String [N]) are empty, bool [N]."""
    return (labels.fill_null("").str.strip_chars() == "").to_numpy()


def _without_label(
    raw: pl.DataFrame, lines: NDArray[np.uint32], label: str, unlabelled: Unlabelled
) -> tuple[pl.DataFrame, NDArray[np.uint32], tuple[Finding, ...]]:
    """Leave out the rows with an empty `label`, or label them false; a finding counts them."""
    blank = unlabelled_rows(raw[label])
    if not blank.any():
        return raw, lines, ()
    fate = {
        Unlabelled.INBOX: "in the inbox, and in no figure",
        Unlabelled.LEAVE_OUT: "left out",
        Unlabelled.FALSE: "taken as not expected",
    }[unlabelled]
    verb = "is" if blank.sum() == 1 else "are"
    rows = count_text(int(blank.sum()), "row")
    message = f"{rows} without a label {verb} {fate} (--unlabelled {unlabelled})"
    listed = tuple(lines[blank][:LISTED].tolist())
    notes = (Finding(Severity.WARNING, UNLABELLED, message, listed),)
    if unlabelled.leaves_out:
        return raw.filter(pl.Series(~blank)), lines[~blank], notes
    filled = pl.when(pl.Series(blank)).then(pl.lit("false")).otherwise(pl.col(label))
    return raw.with_columns(filled.alias(label)), lines, notes


def _own_name(name: str, taken: Sequence[str]) -> str:
    """Return the name of an extra column, with a suffix if it collides with one of ours."""
    reserved = ("key", "line", "prompt", "expected")
    if name not in reserved:
        return name
    while name in (*reserved, *taken):
        name += " (file)"
    return name


def _known_columns(
    columns: Sequence[str], source: str, intent: Intent | None, header: str
) -> dict[str, str]:
    """Map each required column to its name in the file, ignoring case and outer blanks.

    The column `intent` may be missing if the topic's intent is known.
    """
    names: dict[str, str] = {}
    errors: list[Finding] = []
    for name in REQUIRED:
        matches = [column for column in columns if column.strip().lower() == name]
        if len(matches) == 1:
            names[name] = matches[0]
        elif matches or name != "intent" or intent is None:
            problem = "missing" if not matches else "there more than once"
            have = ", ".join(columns[:10]) or "no columns"
            message = f"the column {name} is {problem}: {header} has {have}"
            if not matches and not errors:
                message += " (for other names of columns: guardtui convert --prompt-column NAME)"
            errors.append(Finding(Severity.ERROR, "column", message, (1,)))
    if errors:
        raise PromptSetError(source, errors)
    return names


def _row_errors(frame: pl.DataFrame, source: str) -> tuple[list[Finding], int]:
    """Return the first errors of each kind, in line order, and the number of all errors.

    Rows without a label are one error.
    """
    errors: list[tuple[int, Finding]] = []
    more = 0

    def add(code: str, rows: pl.DataFrame, message: str, value: str | None = None) -> None:
        nonlocal more
        more += max(rows.height - LISTED, 0)
        first = rows.head(LISTED)
        for line, shown in first.select("line", pl.col(value or "line").alias("shown")).iter_rows():
            text = message.format(repr(str(shown)[:40]))
            errors.append((line, Finding(Severity.ERROR, code, text, (line,))))

    add(
        "empty-prompt",
        frame.filter(pl.col("prompt").str.strip_chars() == ""),
        "empty prompt: write one, or delete the row",
    )
    add(
        "long-prompt",
        frame.filter(pl.col("prompt").str.len_bytes() > PROMPT_BYTES),
        "the prompt has more than 1 MiB: is a quote missing before it?",
    )
    empty = frame.filter(pl.col("_label") == "")
    if empty.height:
        lines = tuple(empty["line"].head(LISTED).to_list())
        where = "here" if empty.height == 1 else f"in {empty.height} rows"
        message = (
            f"expected is empty {where}: write true or false, or choose "
            "--unlabelled inbox (label them later) or --unlabelled false (not expected)"
        )
        errors.append((lines[0], Finding(Severity.ERROR, "expected", message, lines)))
    labelled = frame.filter(pl.col("_label") != "")
    wrong = labelled.filter(~pl.col("_label").is_in([*TRUE, *FALSE]))
    if wrong.height == labelled.height > wrong["_label"].n_unique() > 1:
        lines = tuple(wrong["line"].head(LISTED).to_list())
        message = _other_labels(wrong["_expected"], source)
        errors.append((lines[0], Finding(Severity.ERROR, "expected", message, lines)))
    else:
        add(
            "expected",
            wrong,
            "expected is {}: write true or false (yes/no, 1/0, t/f, y/n)",
            "_expected",
        )
    known = pl.col("_intent").is_in([intent.value for intent in Intent])
    blank = pl.col("_intent") == ""
    add("intent", frame.filter(~known & ~blank), "intent is {}: write block or allow", "_intent")
    add(
        "intent",
        frame.filter(blank),
        "intent is empty: write block or allow, here or in the topic file",
    )
    valid = frame.filter(known)
    if valid.height:
        first = valid["_intent"][0]
        differs = valid.filter(pl.col("_intent") != first)
        if differs.height:
            line = differs["line"][0]
            message = (
                f"intent is {differs['_intent'][0]} here and {first} in line {valid['line'][0]}: "
                "a prompt set has one intent"
            )
            errors.append((line, Finding(Severity.ERROR, "mixed-intent", message, (line,))))
    errors.sort(key=lambda pair: pair[0])
    return [finding for _, finding in errors], len(errors) + more


def _other_labels(labels: pl.Series, source: str) -> str:
    """Return the error for a file none of whose labels (String [N]) is true or false."""
    words = labels.unique(maintain_order=True).head(4).to_list()
    shown = ", ".join(repr(word[:40]) for word in words)
    true = next((word for word in words if word.lower() in SPREADSHEET_TRUE), "VALUE")
    return (
        f"no label is true or false (yes/no, 1/0, t/f, y/n), but {shown}: name what means true, "
        f"guardtui convert {shlex.quote(source)} --true {shlex.quote(true)}"
    )


def missing_class(expected: pl.Series) -> Finding | None:
    """Return an error that says what to add if all labels (Boolean [N]) are equal, else None."""
    for label, missing in ((True, not expected.any()), (False, bool(expected.all()))):
        if missing:
            message = (
                f"no row has expected {str(label).lower()}: add prompts that "
                f"{'belong' if label else 'do not belong'} to the topic"
            )
            return Finding(Severity.ERROR, "one-class", message)
    return None


def check_prompt_set(prompts: PromptSet, topic: Topic | None) -> tuple[Finding, ...]:
    """Return warnings: duplicates, contradictions, imbalance and others.

    With a topic also leakage, and line breaks, which matter only to another tool.
    """
    frame = prompts.frame.select("line", "prompt", "expected").with_columns(
        pl.col("prompt")
        .str.replace_all(_BLANKS, " ")
        .str.strip_chars()
        .str.to_lowercase()
        .alias("folded")
    )
    findings = [*prompts.left_out, *_repeats(frame), *_leakage(frame, topic)]
    share = float(prompts.expected.mean())
    if max(share, 1 - share) > IMBALANCE:
        message = (
            f"{share:.0%} of the prompts belong to the topic, {1 - share:.0%} do not: "
            "the smaller class decides coverage, add prompts to it"
        )
        findings.append(Finding(Severity.WARNING, "imbalance", message))
    findings += _rare_categories(prompts)
    broken = frame.filter(pl.col("prompt").str.contains("\n", literal=True))
    if broken.height and topic is not None:
        message = (
            f"{_prompts(broken.height, 'contains', 'contain')} line breaks: guardtui accepts them, "
            "airs-cli cannot read them"
        )
        findings.append(_warning("line-break", message, broken))
    suspicious = frame.filter(pl.col("prompt").str.contains(r"[^\P{C}\n\r\t]|\u{200b}|\u{00ad}"))
    hidden = suspicious.filter(
        pl.Series([hidden_characters(text) > 0 for text in suspicious["prompt"]], dtype=pl.Boolean)
    )
    if hidden.height:
        message = f"{_prompts(hidden.height, 'holds', 'hold')} invisible or control characters"
        findings.append(_warning("hidden-characters", message, hidden))
    return tuple(findings)


def _prompts(count: int, singular: str, plural: str) -> str:
    """Return the number of prompts with a verb in singular or plural."""
    return f"{count_text(count, 'prompt')} {singular if count == 1 else plural}"


def _warning(code: str, message: str, rows: pl.DataFrame) -> Finding:
    lines = tuple(rows["line"].sort().head(LISTED).to_list())
    return Finding(Severity.WARNING, code, message, lines)


def _repeats(frame: pl.DataFrame) -> list[Finding]:
    findings = []
    repeated = frame.filter(pl.col("folded").is_duplicated())
    if not repeated.height:
        return []
    by_text = repeated.group_by("folded", maintain_order=True).agg(
        pl.col("line"),
        pl.col("prompt").n_unique().alias("spellings"),
        pl.col("expected").n_unique(),
    )
    contradictory = by_text.filter(pl.col("expected") > 1)
    same = by_text.filter((pl.col("expected") == 1) & (pl.col("spellings") == 1))
    near = by_text.filter((pl.col("expected") == 1) & (pl.col("spellings") > 1))
    kinds = (
        (
            "contradictory-label",
            contradictory,
            "stands",
            "stand",
            "with both labels: decide for one",
        ),
        ("duplicate", same, "stands", "stand", "there more than once: each counts"),
        ("near-duplicate", near, "differs", "differ", "from another only by case or blanks"),
    )
    for code, groups, singular, plural, what in kinds:
        if groups.height:
            lines = groups.explode("line").select("line")
            findings.append(
                _warning(code, f"{_prompts(groups.height, singular, plural)} {what}", lines)
            )
    return findings


def _leakage(frame: pl.DataFrame, topic: Topic | None) -> list[Finding]:
    if topic is None:
        return []
    findings = []
    for number, example in enumerate(topic.examples, start=1):
        folded = " ".join(example.split()).lower()
        rows = frame.filter(pl.col("folded") == folded)
        if folded and rows.height:
            message = f"example {number} of the topic is also a test prompt, so it tests nothing"
            findings.append(_warning("leakage", message, rows))
    return findings


def _rare_categories(prompts: PromptSet) -> list[Finding]:
    if prompts.category_column is None:
        return []
    codes, names = prompts.groups(prompts.category_column)
    counts = np.bincount(codes, minlength=len(names))
    rare = [
        f"{display_start(name, _NAME_SHOWN)} ({count})"
        for name, count in zip(names, counts, strict=True)
        if count < _RARE
    ]
    if not rare:
        return []
    more = f" and {len(rare) - 5} more" if len(rare) > 5 else ""
    message = f"too few prompts to tell anything of a category: {', '.join(rare[:5])}{more}"
    return [Finding(Severity.WARNING, "rare-category", message)]
