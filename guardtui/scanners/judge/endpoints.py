"""The file of endpoints that serve one model: a line for each, with a limit of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.domain.text import display_text
from guardtui.http.address import AddressError
from guardtui.http.limits import Rate
from guardtui.http.model_keys import NO_KEY, VARIABLE, ModelKey, ModelKeys
from guardtui.http.secret import Secret, bearer

if TYPE_CHECKING:
    from guardtui.http.fleet import Member

MOST_AT_ONCE = 1024
_LARGEST = 1024**2
_SHOWN_PROBLEMS = 20
_FORM = "write lines of the form 'http://host:8000/v1 concurrency=8 rate=20 key_env=MY_KEY'"
_EMPTY = "write the URL of an endpoint on a line, such as http://localhost:8000/v1"
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EndpointLine:
    """One endpoint: its URL, calls at once and a second (None: as for all), and its key.

    `key_variable` is the environment variable with the key.
    """

    url: str
    concurrency: int | None = None
    rate: float | None = None
    key: Secret | None = None
    key_variable: str = ""


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with the file, in which line (from 1), and what to do."""

    problem: str
    remedy: str
    line: int | None = None


class EndpointsProblem(Exception):  # noqa: N818 - it says what it is
    """The file cannot be used; the text names all that is wrong with it, with lines."""

    def __init__(self, source: str, problems: Sequence[Mistake]) -> None:
        self.problems = tuple(problems)
        shown = []
        for one in self.problems[:_SHOWN_PROBLEMS]:
            where = source if one.line is None else f"{source}:{one.line}"
            shown.append(f"{where}: {one.problem}\n  {one.remedy}")
        if (more := len(self.problems) - len(shown)) > 0:
            shown.append(f"and {more} more")
        super().__init__("\n".join(shown))


def read_endpoints(
    path: Path, environment: Mapping[str, str] | None = None, *, allow_http: bool = False
) -> tuple[EndpointLine, ...]:
    """The endpoints of a file: `URL [concurrency=N] [rate=R] [key_env=VARIABLE]`, one on a line.

    What stands behind # is a comment. The key is that of the variable, no key with `key_env=none`,
    else the one that `ModelKeys` finds for the URL. Raises EndpointsProblem and ModelKeyError.
    """
    text = _text_of(path)
    variables = os.environ if environment is None else environment
    found: list[EndpointLine] = []
    own_key: list[bool] = []
    problems: list[Mistake] = []
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = _COMMENT.sub("", line).split()
        if not words:
            continue
        try:
            one, has_own_key = _endpoint(words, variables, allow_http)
            if (first := lines.setdefault(one.url, number)) != number:
                raise _Wrong(f"{one.url} stands twice, first in line {first}", "remove one of them")
        except _Wrong as wrong:
            problems.append(Mistake(wrong.problem, wrong.remedy, number))
        else:
            found.append(one)
            own_key.append(has_own_key)
    if not problems and not found:
        problems.append(Mistake("no endpoint stands in it", _EMPTY))
    if problems:
        raise EndpointsProblem(str(path), problems)
    # Origins of all lines count: a key that is for one origin is sent to none of several.
    lines_with_keys = list(zip(found, own_key, strict=True))
    keys = ModelKeys(
        variables,
        [one.url for one, own in lines_with_keys if not own],
        served=[one.url for one, own in lines_with_keys if own],
    )
    return tuple(one if own else _with_key(one, keys.find(one.url)) for one, own in lines_with_keys)


def _with_key(line: EndpointLine, key: ModelKey) -> EndpointLine:
    return replace(line, key=key.secret, key_variable=key.variable)


def _text_of(path: Path) -> str:
    """The text of the file. Raises EndpointsProblem."""
    source = str(path)
    try:
        if not path.is_file():
            raise EndpointsProblem(source, [Mistake("is no file", _EMPTY)])
        if path.stat().st_size > _LARGEST:
            remedy = "at most 1 MiB is taken"
            raise EndpointsProblem(source, [Mistake("is too large for endpoints", remedy)])
        content = path.read_bytes()
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise EndpointsProblem(source, [Mistake(why, "see that you may read it")]) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = content.count(b"\n", 0, error.start) + 1
        mistake = Mistake("is not UTF-8", "save it as UTF-8", at)
        raise EndpointsProblem(source, [mistake]) from error


class _Wrong(Exception):  # noqa: N818 - caught here
    def __init__(self, problem: str, remedy: str = _FORM) -> None:
        self.problem, self.remedy = problem, remedy


def _endpoint(
    words: Sequence[str], variables: Mapping[str, str], allow_http: bool
) -> tuple[EndpointLine, bool]:
    """The endpoint of one line, and whether the line says what its key is. Raises _Wrong."""
    from guardtui.http.openai import chat_endpoint

    try:
        endpoint = chat_endpoint(words[0], allow_http=allow_http)
    except AddressError as error:
        raise _Wrong(str(error)) from error
    given: dict[str, str] = {}
    for word in words[1:]:
        name, sign, value = word.partition("=")
        if name not in ("concurrency", "rate", "key_env"):
            # What stands alone, or behind the sign, may be a key.
            shown = f"{display_text(name[:40])!r} is no option" if sign else "a word without ="
            raise _Wrong(f"{shown}; keys do not stand here", _FORM)
        if not value:
            raise _Wrong(f"{name} has no value")
        if name in given:
            raise _Wrong(f"{name} stands twice", "remove one of them")
        given[name] = value
    line = EndpointLine(
        endpoint.join(""), _concurrency(given.get("concurrency")), _rate(given.get("rate"))
    )
    variable = given.get("key_env", NO_KEY)
    if variable != NO_KEY:
        line = replace(line, key=_key(variable, variables), key_variable=variable)
    return line, "key_env" in given


def _concurrency(text: str | None) -> int | None:
    if text is None:
        return None
    number = int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 0
    if not 1 <= number <= MOST_AT_ONCE:
        shown = display_text(text[:40])
        raise _Wrong(f"concurrency={shown} is no whole number from 1 to {MOST_AT_ONCE}")
    return number


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    number = float(text) if re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,6})?", text) else 0.0
    if not 0 < number <= 10_000:
        shown = display_text(text[:40])
        raise _Wrong(f"rate={shown} is no number of calls a second above 0, at most 10000")
    return number


def _key(name: str, variables: Mapping[str, str]) -> Secret:
    if not VARIABLE.fullmatch(name):
        raise _Wrong(
            "key_env is no name of an environment variable",
            "keys do not stand here: write key_env=MY_KEY, and put the key into that variable",
        )
    text = variables.get(name, "").strip()
    if not text:
        raise _Wrong(f"the environment variable {name} is not set", f"export {name}=…")
    try:
        return Secret(text, name)
    except ValueError as error:
        raise _Wrong(str(error), f"see what {name} holds") from error


def members_of(
    endpoints: Sequence[EndpointLine],
    concurrency: int,
    rate: float | None = None,
    *,
    allow_http: bool = False,
) -> tuple[Member, ...]:
    """Members of a fleet; `concurrency` and `rate` are for those whose line says nothing."""
    from guardtui.http.fleet import Member
    from guardtui.http.openai import chat_endpoint

    members = []
    for one in endpoints:
        per_second = rate if one.rate is None else one.rate
        members.append(
            Member(
                chat_endpoint(one.url, allow_http=allow_http),
                concurrency if one.concurrency is None else one.concurrency,
                None if per_second is None else Rate.per_second(per_second),
                None if one.key is None else bearer(one.key),
            )
        )
    return tuple(members)
