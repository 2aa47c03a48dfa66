"""The values in what a command wrote, by their places, and the differences between two versions."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from ruamel.yaml import YAML

Value = str | int | float | bool | None
Values = dict[str, Value]
"""A value for each place, such as `results[3].score`; a list has its length at `results.length`."""

_INDEX = re.compile(r"\[\d+\]")
_NAME = re.compile(r"(\w+)(?:\[\d+\])*(?:\.length)?$")
_NOT_FIGURES = re.compile(
    r"https?://\S+"
    r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?"  # dates and times
    r"|\bv?\d+\.\d+\.\d+\S*"  # versions
)
_NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])")
_UNSEEN = re.compile(r"<(script|style|svg|head)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_PARTS_LEFT_OUT = re.compile(
    # Charts, and the table of their points, have other thresholds than they had.
    r'<div [^>]*aria-label="Table: [Tt]hresholds?">.*?</table>'
    # The section of clusters went on purpose, and its link with it.
    r'|<section id="clusters".*?</section>',
    re.DOTALL,
)
"""Parts of an HTML report that are not compared."""


@dataclass(frozen=True)
class Fields:
    """What is known of the fields of reports.

    `renamed` has the new place of an old one (None where it went on purpose), `[*]` standing for
    any index; what is below a place moves with it. `renamed_values` has the new text of an old one.
    `left_out` names fields that hold times and versions, `sentences` those of which only the
    numbers are compared, as people reword them.
    """

    renamed: Mapping[str, str | None] = field(default_factory=dict)
    renamed_values: Mapping[str, str] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    sentences: frozenset[str] = frozenset()

    def new_place(self, place: str) -> str | None:
        """Return where the value of an old place is in the new version; None if it went."""
        general = _INDEX.sub("[*]", place)
        for old in sorted(self.renamed, key=len, reverse=True):
            rest = general.removeprefix(old)
            if rest == general or rest[:1] not in ("", ".", "[", ":"):
                continue
            new = self.renamed[old]
            if new is None:
                return None
            moved = new + rest
            for index in _INDEX.findall(place):
                moved = moved.replace("[*]", index, 1)
            return moved
        return place


def values_of(name: str, content: bytes, fields: Fields) -> Values:
    """Return the values in a file, by the ending of its name, or in an output without one.

    Raises ValueError or SyntaxError for a file that is not what its name says.
    """
    text = content.decode("utf-8-sig", "replace")
    values: Values = {}
    if content.startswith(b"\xef\xbb\xbf"):
        values["byte order mark"] = True
    suffix = name.rpartition(".")[2]
    if suffix == "jsonl":
        found = _flat([json.loads(line) for line in text.splitlines()])
    elif suffix in ("json", "sarif") or text.startswith(("{\n", '{"', "[\n", "[{")):
        found = _flat(json.loads(text))
    elif suffix in ("csv", "tsv"):
        delimiter = "\t" if suffix == "tsv" else ","
        found = _flat(list(csv.DictReader(io.StringIO(text), delimiter=delimiter)))
    elif suffix == "xml" or text.startswith("<?xml"):
        found = _elements(ElementTree.fromstring(text))
    elif suffix == "yaml":
        found = _flat(YAML(typ="safe").load(text))
    elif suffix == "html":
        return values | _numbers(html.unescape(_UNSEEN.sub(" ", _PARTS_LEFT_OUT.sub(" ", text))))
    else:
        return values | _numbers(text)
    for place, value in found:
        named = _NAME.search(place)
        last = named[1] if named else place
        if last in fields.left_out:
            continue
        if last in fields.sentences and isinstance(value, str):
            values |= {f"{place}: {number}": value for number, value in _numbers(value).items()}
        else:
            values[place] = value
    return values


def _flat(data: Any, place: str = "") -> Iterator[tuple[str, Value]]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _flat(value, f"{place}.{name}" if place else str(name))
    elif isinstance(data, Sequence) and not isinstance(data, str):
        yield f"{place}.length".removeprefix("."), len(data)
        for number, value in enumerate(data):
            yield from _flat(value, f"{place}[{number}]")
    else:
        yield place, data if isinstance(data, Value) else str(data)


def _elements(element: ElementTree.Element, place: str = "") -> Iterator[tuple[str, Value]]:
    place = f"{place}.{element.tag}" if place else element.tag
    if element.tag == "properties":  # of JUnit: each has a name, and their order says nothing
        for child in element:
            yield f"{place}.{child.get('name')}", child.get("value")
        return
    for name, value in element.attrib.items():
        yield f"{place}.{name}", value
    for number, text in _numbers(element.text or "").items():
        yield f"{place}: {number}", text
    counts: Counter[str] = Counter()
    for child in element:
        child_place = f"{place}[{counts[child.tag]}]"
        counts[child.tag] += 1
        yield from _elements(child, child_place)
    for tag, count in counts.items():
        yield f"{place}.{tag}.length", count


def _numbers(text: str) -> Values:
    """Return the numbers in a text, each occurrence at a place of its own."""
    counts: Counter[str] = Counter()
    values: Values = {}
    for match in _NUMBER.finditer(_NOT_FIGURES.sub(" ", text)):
        number = match[0].replace("−", "-").removeprefix("+").rstrip(",")
        counts[number] += 1
        values[f"number {number}, occurrence {counts[number]}"] = number
    return values


def differences(old: Values, new: Values, fields: Fields) -> list[str]:
    """Return what the new version says otherwise, or no longer; further fields are no difference.

    A field without a value (None, or an empty text) may go.
    """
    result = []
    for place, value in old.items():
        moved = fields.new_place(place)
        if moved is None or (value in (None, "") and moved not in new):
            continue
        shown = place if moved == place else f"{place} → {moved}"
        if moved not in new:
            result.append(f"{shown}: missing, was {value!r}")
            continue
        renamed = fields.renamed_values.get(str(value), value)
        if not (_equal(value, new[moved]) or _equal(renamed, new[moved])):
            result.append(f"{shown}: {value!r} is now {new[moved]!r}")
    return result


def _equal(one: Value, other: Value) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other
