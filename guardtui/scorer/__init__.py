"""Scorers, metrics and reducers with the names and the behaviour of inspect_ai.scorer.

`@scorer`, `@metric` and `@score_reducer` register your own; `load_plugin` runs a file that does so.
Constants and aliases, which have no docstrings of their own:

- `CORRECT` ("C"), `INCORRECT` ("I"), `PARTIAL` ("P"), `NOANSWER` ("N"): letters as values; metrics
  count them as 1, 0, 0.5 and 0.
- `UNCHANGED`: marks fields that a `ScoreEdit` does not change.
- `Value`: the value of a score: a text, number or bool, a list of them, or a mapping of names.
- `ValueToFloat`: a function that converts a value to a number, such as `value_to_float()`.
- `Metric`: a function from a list of `SampleScore` to a `Value`.
- `ScoreReason`: the standard causes that a score may have as its `reason`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guardtui.scorer.aggregate import MetricResult as MetricResult
    from guardtui.scorer.aggregate import ScorerSummary as ScorerSummary
    from guardtui.scorer.aggregate import summarise as summarise
    from guardtui.scorer.agreement import krippendorff_alpha as krippendorff_alpha
    from guardtui.scorer.choices import choice as choice
    from guardtui.scorer.decorators import metric as metric
    from guardtui.scorer.decorators import score_reducer as score_reducer
    from guardtui.scorer.decorators import scorer as scorer
    from guardtui.scorer.expression import ExpressionError as ExpressionError
    from guardtui.scorer.expression import parse_metric as parse_metric
    from guardtui.scorer.expression import parse_metrics as parse_metrics
    from guardtui.scorer.expression import parse_reducer as parse_reducer
    from guardtui.scorer.expression import parse_scorer as parse_scorer
    from guardtui.scorer.graded import model_graded_fact as model_graded_fact
    from guardtui.scorer.graded import model_graded_qa as model_graded_qa
    from guardtui.scorer.groups import grouped as grouped
    from guardtui.scorer.guardrail import coverage as coverage
    from guardtui.scorer.guardrail import fixes as fixes
    from guardtui.scorer.guardrail import guardrail_f1 as guardrail_f1
    from guardtui.scorer.guardrail import precision as precision
    from guardtui.scorer.guardrail import regressions as regressions
    from guardtui.scorer.guardrail import tnr as tnr
    from guardtui.scorer.guardrail import tpr as tpr
    from guardtui.scorer.intermediate import ScoringTask as ScoringTask
    from guardtui.scorer.intermediate import score as score
    from guardtui.scorer.intermediate import scoring_task as scoring_task
    from guardtui.scorer.intervals import ci as ci
    from guardtui.scorer.intervals import ci_wilson as ci_wilson
    from guardtui.scorer.matching import includes as includes
    from guardtui.scorer.matching import match as match
    from guardtui.scorer.metrics import accuracy as accuracy
    from guardtui.scorer.metrics import bootstrap_stderr as bootstrap_stderr
    from guardtui.scorer.metrics import mean as mean
    from guardtui.scorer.metrics import std as std
    from guardtui.scorer.metrics import stderr as stderr
    from guardtui.scorer.metrics import var as var
    from guardtui.scorer.models import ModelRole as ModelRole
    from guardtui.scorer.models import NoModelError as NoModelError
    from guardtui.scorer.models import use_models as use_models
    from guardtui.scorer.multi import multi_scorer as multi_scorer
    from guardtui.scorer.patterns import answer as answer
    from guardtui.scorer.patterns import pattern as pattern
    from guardtui.scorer.plugins import Plugin as Plugin
    from guardtui.scorer.plugins import PluginError as PluginError
    from guardtui.scorer.plugins import load_plugin as load_plugin
    from guardtui.scorer.precomputed import precomputed_scores as precomputed_scores
    from guardtui.scorer.reducers import at_least as at_least
    from guardtui.scorer.reducers import collect_score as collect_score
    from guardtui.scorer.reducers import majority_score as majority_score
    from guardtui.scorer.reducers import max_score as max_score
    from guardtui.scorer.reducers import mean_score as mean_score
    from guardtui.scorer.reducers import median_score as median_score
    from guardtui.scorer.reducers import mode_score as mode_score
    from guardtui.scorer.reducers import pass_at as pass_at
    from guardtui.scorer.reducers import pass_k as pass_k
    from guardtui.scorer.state import TaskState as TaskState
    from guardtui.scorer.types import CORRECT as CORRECT
    from guardtui.scorer.types import INCORRECT as INCORRECT
    from guardtui.scorer.types import NOANSWER as NOANSWER
    from guardtui.scorer.types import PARTIAL as PARTIAL
    from guardtui.scorer.types import UNCHANGED as UNCHANGED
    from guardtui.scorer.types import Metric as Metric
    from guardtui.scorer.types import MetricProtocol as MetricProtocol
    from guardtui.scorer.types import SampleScore as SampleScore
    from guardtui.scorer.types import Score as Score
    from guardtui.scorer.types import ScoreEdit as ScoreEdit
    from guardtui.scorer.types import Scorer as Scorer
    from guardtui.scorer.types import ScoreReason as ScoreReason
    from guardtui.scorer.types import ScoreReducer as ScoreReducer
    from guardtui.scorer.types import Target as Target
    from guardtui.scorer.types import Value as Value
    from guardtui.scorer.types import ValueToFloat as ValueToFloat
    from guardtui.scorer.types import value_to_float as value_to_float
    from guardtui.scorer.wording import exact as exact
    from guardtui.scorer.wording import f1 as f1

# Loaded on first access, so that importing `Score` does not import all scorers.
_NAMES_OF = {
    "agreement": ("krippendorff_alpha",),
    "aggregate": ("MetricResult", "ScorerSummary", "summarise"),
    "choices": ("choice",),
    "decorators": ("metric", "score_reducer", "scorer"),
    "expression": (
        "ExpressionError", "parse_metric", "parse_metrics", "parse_reducer", "parse_scorer",
    ),
    "graded": ("model_graded_fact", "model_graded_qa"),
    "groups": ("grouped",),
    "guardrail": (
        "coverage", "fixes", "guardrail_f1", "precision", "regressions", "tnr", "tpr",
    ),
    "intervals": ("ci", "ci_wilson"),
    "intermediate": ("ScoringTask", "score", "scoring_task"),
    "matching": ("includes", "match"),
    "metrics": ("accuracy", "bootstrap_stderr", "mean", "std", "stderr", "var"),
    "models": ("ModelRole", "NoModelError", "use_models"),
    "multi": ("multi_scorer",),
    "patterns": ("answer", "pattern"),
    "precomputed": ("precomputed_scores",),
    "plugins": ("Plugin", "PluginError", "load_plugin"),
    "reducers": (
        "at_least", "collect_score", "majority_score", "max_score", "mean_score", "median_score",
        "mode_score", "pass_at", "pass_k",
    ),
    "state": ("TaskState",),
    "types": (
        "CORRECT", "INCORRECT", "NOANSWER", "PARTIAL", "UNCHANGED", "Metric", "MetricProtocol",
        "SampleScore", "Score", "ScoreEdit", "ScoreReason", "ScoreReducer", "Scorer", "Target",
        "Value", "ValueToFloat", "value_to_float",
    ),
    "wording": ("exact", "f1"),
}  # fmt: skip

_HOME_OF = {name: module for module, names in _NAMES_OF.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
