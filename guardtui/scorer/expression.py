"""Scorers, metrics and reducers from expressions such as `match("any", numeric=True)`.

The text is parsed as a Python expression but never evaluated: only registered names, calls of them,
and literal arguments are allowed. Anything known to fail for every row is an error here.
"""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from guardtui.scorer.decorators import MetricSet
from guardtui.scorer.factory_signature import KINDS, FactorySignature, text_problem, unknown_name
from guardtui.scorer.reducers import reducer_by_name
from guardtui.scorer.registry import OWN, RegistryType, find, lookup
from guardtui.scorer.types import Metric, Scorer, ScoreReducer

LONGEST = 20_000
"""Maximum number of characters; nobody writes longer expressions."""

_SEVERAL = "multi_scorer"
_REPAIR = "repair or remove the package that provides it"
_EXAMPLES: Mapping[RegistryType, str] = {
    "scorer": 'match("any")',
    "metric": "accuracy()",
    "score_reducer": "at_least(2)",
}

_HYPHENATED = re.compile(r"(\w+(?:-\w+)+)([./]\w+)")
"""The name of a distribution before that of a scorer; the parser takes it for a subtraction."""


class ExpressionError(ValueError):
    """An invalid expression: problem, position and remedy.

    `start` and `end` are offsets in characters into `text`, end exclusive.
    """

    def __init__(self, text: str, start: int, end: int, problem: str, remedy: str) -> None:
        self.text = text
        self.start = max(0, min(start, len(text)))
        self.end = max(self.start, min(end, len(text)))
        self.problem = problem
        self.remedy = remedy
        position = f"at character {self.start + 1}"
        if self.end - self.start > 1:
            position = f"at characters {self.start + 1} to {self.end}"
        super().__init__(f"{problem} ({position}): {remedy}")


def parse_scorer(text: str) -> Scorer:
    """Return the scorer that an expression names. Raises ExpressionError.

    `multi_scorer` takes a list of scorer expressions, and a reducer by name or as an expression.
    """
    made: Scorer = _read(text, "scorer", lambda reader, node: reader.made("scorer", node))
    return made


def parse_metric(text: str) -> Metric:
    """Return the metric that an expression names. Raises ExpressionError."""
    made: Metric = _read(text, "metric", lambda reader, node: reader.made("metric", node))
    return made


def parse_metrics(text: str) -> MetricSet:
    """Return one metric, several, or a mapping from keys to metrics. Raises ExpressionError.

    `accuracy(), stderr()` and `[accuracy(), {"a*": [mean()]}]` are lists, `{"*": mean()}` is a
    mapping.
    """
    made: MetricSet = _read(text, "metric", lambda reader, node: reader.metrics(node))
    return made


def parse_reducer(text: str) -> ScoreReducer:
    """Return the reducer that an expression names; `at_least_2` is `at_least(2)`.

    Raises ExpressionError.
    """
    made: ScoreReducer = _read(
        text, "score_reducer", lambda reader, node: reader.made("score_reducer", node)
    )
    return made


# --- from text to a tree ------------------------------------------------------------------------

_Part: TypeAlias = Callable[["_Reader", ast.expr], Any]


def _read(text: str, kind: RegistryType, part: _Part) -> Any:
    example = f"write a name or a call, such as {_EXAMPLES[kind]}"
    if not text.strip():
        raise ExpressionError(text, 0, len(text), f"no {KINDS[kind]} is named", example)
    if len(text) > LONGEST:
        problem = f"the expression has {len(text)} characters, more than {LONGEST}"
        raise ExpressionError(text, LONGEST, len(text), problem, "write a shorter one")
    text = _quoted_name(text, kind)
    reader = _Reader(text)
    try:
        # "\d" in an ordinary text is intended by the author, so the warning is suppressed.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(text[reader.indent :], mode="eval").body
        return part(reader, node)
    except SyntaxError as error:
        start = reader.offset_of_character(error.lineno or 1, (error.offset or 1) - 1)
        raise ExpressionError(text, start, start + 1, f"not an expression: {error.msg}", example) \
            from error  # fmt: skip
    except (MemoryError, RecursionError) as error:
        problem = "the expression is nested too deeply"
        raise ExpressionError(text, 0, len(text), problem, example) from error
    except ExpressionError:
        raise
    except ValueError as error:
        # A null character or half of a surrogate pair.
        problem = f"not an expression: {error}"
        raise ExpressionError(text, 0, len(text), problem, example) from error


def _quoted_name(text: str, kind: RegistryType) -> str:
    """Return a registered name that is not an identifier in quotes; any other text unchanged."""
    name, call = text.strip(), ""
    if name.endswith("()"):
        name, call = name[:-2].rstrip(), "()"
    return text if name.isidentifier() or find(kind, name) is None else f"{name!r}{call}"


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


class _Reader:
    """Creates the objects named by the nodes of one expression, and locates the nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.indent = len(text) - len(text.lstrip())
        self._lines: list[tuple[int, str]] = []
        offset = 0
        for line in _LINE.findall(text[self.indent :]):
            self._lines.append((self.indent + offset, line))
            offset += len(line)

    # --- places

    def offset_of_character(self, line: int, column: int) -> int:
        start, _ = self._lines[min(max(line, 1), len(self._lines)) - 1]
        return start + max(column, 0)

    def _offset(self, line: int, column: int) -> int:
        start, body = self._lines[min(line, len(self._lines)) - 1]
        # The parser's columns are in bytes.
        return start + len(body.encode()[:column].decode(errors="ignore"))

    def _span(self, node: ast.expr) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._offset(node.lineno, node.col_offset), self._offset(end_line, end_column)

    def wrong(self, node: ast.expr, problem: str, remedy: str) -> ExpressionError:
        return ExpressionError(self.text, *self._span(node), problem, remedy)

    def written(self, node: ast.expr) -> str:
        """Return the source of a node in one short line."""
        start, end = self._span(node)
        line = " ".join(self.text[start:end].split())
        return line if len(line) <= 40 else f"{line[:39]}…"

    # --- what is named

    def metrics(self, node: ast.expr) -> MetricSet:
        if isinstance(node, ast.Dict):
            return self._by_key(node)
        if not isinstance(node, ast.List | ast.Tuple):
            return [self.made("metric", node)]
        if not node.elts:
            raise self.wrong(node, "no metric is named", f"write {_EXAMPLES['metric']}")
        return [
            self._by_key(element) if isinstance(element, ast.Dict) else self.made("metric", element)
            for element in node.elts
        ]

    def _by_key(self, node: ast.Dict) -> dict[str, list[Metric]]:
        by_key: dict[str, list[Metric]] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise self.wrong(
                    key or value, "a key of metrics is a text", 'write {"key": [mean()]}'
                )
            entries = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
            by_key[key.value] = [self.made("metric", entry) for entry in entries]
        return by_key

    def made(self, kind: RegistryType, node: ast.expr) -> Any:
        """Return the object that a name or a call of it creates."""
        named = self._named(kind, node)
        if kind == "score_reducer" and not named.arguments:
            return self._reducer(named)
        factory = self._factory(kind, named)
        form = FactorySignature(named.plain, factory)
        bound = self._bound(named, form)
        if kind == "scorer" and named.plain == _SEVERAL:
            return self._several(named, form, bound)
        made = {
            name: self._metrics_of(form, name, bound.pop(name))
            for name in [*bound]
            if form.takes_metrics(name)
        }
        values = {name: form.fitted(name, self._values(bound[name])) for name in bound}
        for name, value in values.items():
            for node_of_value, item in _single(bound[name], value):
                self._check_type(form, name, item, node_of_value)
                self._check_text(form, name, item, node_of_value)
        return self._called(form, named, made | values)

    def _metrics_of(self, form: FactorySignature, name: str, node: ast.expr) -> Any:
        """Return the metric, or the set of metrics, that an argument names."""
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if form.takes_metrics(name) == "one":
            return self.made("metric", node)
        return self.metrics(node)

    def _named(self, kind: RegistryType, node: ast.expr) -> _Named:
        whole = node
        package = ""
        # `package/name(...)`, as the registry writes it.
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and isinstance(node.left, ast.Name)
        ):
            package, node = f"{node.left.id}/", node.right
        arguments: list[ast.expr | ast.keyword] = []
        if isinstance(node, ast.Call):
            arguments = [*node.args, *node.keywords]
            node = node.func
        # A name with blanks or other signs is written in quotes.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not package:
            return _Named(node.value, node, whole, arguments)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and not package:
            return _Named(f"{node.value.id}/{node.attr}", node, whole, arguments)
        if not isinstance(node, ast.Name):
            remedy = f"write a name or a call of it, such as {_EXAMPLES[kind]}"
            if hyphenated := _HYPHENATED.match(self.text[slice(*self._span(whole))]):
                package, name = hyphenated.groups()
                remedy = f"write {package.replace('-', '_')}{name}, with the name of the module"
            problem = f"{self.written(whole)} is not the name of a {KINDS[kind]}"
            raise self.wrong(whole, problem, remedy)
        return _Named(package + node.id, whole if package else node, whole, arguments)

    def _factory(self, kind: RegistryType, named: _Named) -> Callable[..., Any]:
        try:
            factory = lookup(kind, named.name)
        except LookupError as error:
            raise self.wrong(named.node, *unknown_name(kind, named.name)) from error
        except ImportError as error:
            raise self.wrong(named.node, str(error), _REPAIR) from error
        return factory

    def _reducer(self, named: _Named) -> Any:
        """Return a reducer without arguments: by name, by name with count, or by function name."""
        for name in (named.name, named.name.removesuffix("_score")):
            try:
                return reducer_by_name(name)
            except LookupError:
                continue
            except TypeError as error:
                remedy = f"write {name}(2) or {name}_2"
                raise self.wrong(named.whole, f"{name} needs a count", remedy) from error
            except ImportError as error:
                raise self.wrong(named.node, str(error), _REPAIR) from error
        raise self.wrong(named.node, *unknown_name("score_reducer", named.name))

    # --- arguments

    def _bound(self, named: _Named, form: FactorySignature) -> dict[str, Any]:
        """Return the nodes of the arguments by parameter name."""
        positional: list[ast.expr] = []
        by_name: dict[str, ast.expr] = {}
        for argument in named.arguments:
            if isinstance(argument, ast.Starred) or (
                isinstance(argument, ast.keyword) and argument.arg is None
            ):
                starred = argument.value
                raise self.wrong(
                    starred, "arguments cannot be unpacked here", "write them one by one"
                )
            if isinstance(argument, ast.keyword):
                by_name[str(argument.arg)] = argument.value
            else:
                positional.append(argument)
        try:
            return form.signature.bind(*positional, **by_name).arguments
        except TypeError as error:
            problem = f"{form.name} cannot be called so: {error}"
            raise self.wrong(named.whole, problem, f"it takes {form.shown()}") from error

    def _values(self, nodes: Any) -> Any:
        if isinstance(nodes, tuple):
            return tuple(map(self._values, nodes))
        if isinstance(nodes, dict):
            return {key: self._values(node) for key, node in nodes.items()}
        return self._literal(nodes)

    def _literal(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if node.value is None or isinstance(node.value, str | bool | int | float):
                return node.value
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self._literal(node.operand)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value if isinstance(node.op, ast.USub) else value
        elif isinstance(node, ast.List):
            return [self._literal(element) for element in node.elts]
        elif isinstance(node, ast.Tuple):
            return tuple(self._literal(element) for element in node.elts)
        elif isinstance(node, ast.Dict) and None not in node.keys:
            keys = [key_node for key_node in node.keys if key_node is not None]
            for key in keys:
                if not isinstance(key, ast.Constant):
                    raise self.wrong(key, "a key is a text or a number", 'write {"key": 1}')
            return {
                self._literal(key): self._literal(value)
                for key, value in zip(keys, node.values, strict=True)
            }
        remedy = f'write "{node.id}" if a text is meant' if isinstance(node, ast.Name) else (
            "write a text in quotes, a number, True, False, None, or a list of them"
        )  # fmt: skip
        raise self.wrong(node, f"{self.written(node)} is not a value that can stand here", remedy)

    def _check_type(self, form: FactorySignature, name: str, value: Any, node: ast.expr) -> None:
        problem = form.misfit(name, value)
        if problem is not None:
            raise self.wrong(
                node,
                f"{name} of {form.name} cannot be {self.written(node)}: {problem}",
                f"it takes {form.shown()}",
            )

    def _check_text(self, form: FactorySignature, name: str, value: Any, node: ast.expr) -> None:
        problem_and_remedy = (
            text_problem(form.registered, name, value) if isinstance(value, str) else None
        )
        if problem_and_remedy is not None:
            raise self.wrong(node, *problem_and_remedy)

    # --- calls

    def _several(self, named: _Named, form: FactorySignature, bound: Mapping[str, Any]) -> Any:
        scorers, reducer = bound["scorers"], bound["reducer"]
        if not isinstance(scorers, ast.List | ast.Tuple):
            remedy = 'write [match(), includes()], then a reducer such as "mode"'
            raise self.wrong(scorers, "multi_scorer takes a list of scorers", remedy)
        if not scorers.elts:
            raise self.wrong(scorers, "multi_scorer has no scorers", "write [match(), includes()]")
        made = [self.made("scorer", element) for element in scorers.elts]
        if isinstance(reducer, ast.Constant) and isinstance(reducer.value, str):
            name = reducer.value
            reduce = self._reducer(_Named(name, reducer, reducer, []))
            return self._called(form, named, {"scorers": made, "reducer": _spelled(name, reduce)})
        values = {"scorers": made, "reducer": self.made("score_reducer", reducer)}
        return self._called(form, named, values)

    def _called(self, form: FactorySignature, named: _Named, values: Mapping[str, Any]) -> Any:
        arguments = inspect.BoundArguments(form.signature, dict(values))
        try:
            return form.factory(*arguments.args, **arguments.kwargs)
        except Exception as error:
            problem = f"{form.name} cannot be made: {error}"
            raise self.wrong(named.whole, problem, f"it takes {form.shown()}") from error


def _spelled(name: str, reducer: ScoreReducer) -> str | ScoreReducer:
    """Return the name if the registry knows it, so that it is recorded; else the reducer."""
    try:
        reducer_by_name(name)
    except LookupError:
        return reducer
    return name


def _single(nodes: Any, values: Any) -> Iterator[tuple[ast.expr, Any]]:
    """Yield each value with its node; those of *args and **kwargs one by one."""
    if isinstance(nodes, tuple):
        yield from zip(nodes, values, strict=True)
    elif isinstance(nodes, dict):
        yield from ((node, values[key]) for key, node in nodes.items())
    else:
        yield nodes, values


@dataclass(frozen=True)
class _Named:
    """A name, its node and that of the whole call, and the nodes of the arguments."""

    name: str
    node: ast.expr
    whole: ast.expr
    arguments: Sequence[ast.expr | ast.keyword]

    @property
    def plain(self) -> str:
        return self.name.removeprefix(f"{OWN}/")
