"""The author's next step where a decision or a scan comes before further edits.

The cases are a table: the first one that holds is the step. Where none does, the measured edits,
experiments and labels of `ranked_ideas` are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from guardtui.advice.judgement import Code, Judgement
from guardtui.app.advice.ideas import Idea, IdeaKind, Ideas
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized, count_text
from guardtui.domain.guardrail import REMOTE
from guardtui.session.session import PLATEAU


@dataclass(frozen=True, eq=False)
class Situation:
    """State of the work on a definition, as the screen shows it.

    `limits` says which limits it violates, or "". `better_edit` says what an experiment has shown
    and is not kept yet, or "". `best` is the number of the best kept iteration, None without one;
    `is_best` says whether the definition is that one, `is_better` whether its coverage is greater.
    `who` is the guardrail that is configured, or "". `file` is the name of the topic file.
    """

    evaluation: Evaluation
    judgement: Judgement
    limits: str = ""
    better_edit: str = ""
    best: int | None = None
    is_best: bool = True
    is_better: bool = False
    likely: bool | None = None
    """What a forecast expects: probably better, probably worse, or None."""
    is_forecast: bool = False
    who: str = ""
    file: str = ""
    has_plateau: bool = False
    still_discarded: str = ""
    """The guardrail that still has a discarded definition in effect, or ""."""

    @property
    def by_guardrail(self) -> bool:
        """Return whether the figures are of the guardrail itself."""
        return self.evaluation.settings.kind in REMOTE

    @property
    def is_measured(self) -> bool:
        """Return whether the engine or the guardrail has judged every prompt."""
        return not self.is_forecast and not self.evaluation.metrics.missing

    @property
    def has_mistakes(self) -> bool:
        """Return whether a prompt is judged wrongly."""
        return self.evaluation.metrics.fp + self.evaluation.metrics.fn > 0

    @property
    def awaits_scan(self) -> bool:
        """Return whether a guardrail is configured that has not answered about the definition."""
        return bool(self.who) and not self.by_guardrail


@dataclass(frozen=True, slots=True)
class Case:
    """A case with its step.

    One that is not `first` comes after a check and after edits that are likely to help.
    """

    kind: IdeaKind
    holds: Callable[[Situation], bool]
    text: Callable[[Situation], str]
    first: bool = True


def _unanswered(count: int) -> str:
    return f"{count_text(count, 'prompt')} that {'has' if count == 1 else 'have'} no verdict"


def _keeps(now: Situation) -> str:
    return f"Keep saves it to {now.file}, and others are compared with it"


CASES: tuple[Case, ...] = (
    Case(
        IdeaKind.PUT_BACK,
        lambda now: now.is_best and bool(now.still_discarded),
        lambda now: f"Put #{now.best} back. {now.still_discarded} has the discarded definition",
    ),
    Case(
        IdeaKind.LIMITS,
        lambda now: bool(now.limits),
        lambda now: f"Bring the definition within the limits. {capitalized(now.limits)}",
    ),
    Case(
        IdeaKind.BETTER_EDIT,
        lambda now: bool(now.better_edit),
        lambda now: f"Keep the edit shown to be better. Coverage is greater {now.better_edit}",
    ),
    Case(
        IdeaKind.SCAN_MISSING,
        lambda now: now.by_guardrail and now.evaluation.metrics.missing > 0,
        lambda now: f"Scan {_unanswered(now.evaluation.metrics.missing)}. Only these are asked",
    ),
    Case(
        IdeaKind.SCAN,
        lambda now: now.is_forecast and not now.is_best and now.likely is True,
        lambda now: "Scan it: probably better by the forecast. A scan decides",
    ),
    Case(
        IdeaKind.DISCARD,
        lambda now: now.is_forecast and not now.is_best and now.likely is False,
        lambda now: f"Discard it: probably worse by forecast. Back to #{now.best}",
    ),
    Case(
        IdeaKind.DISCARD,
        lambda now: now.is_measured and not now.is_best and now.judgement.code is Code.WORSE,
        lambda now: f"Discard it: worse, more than chance. Back to #{now.best}",
    ),
    Case(
        IdeaKind.KEEP,
        lambda now: now.is_measured and now.by_guardrail and now.best is None,
        lambda now: f"Keep it: it is the first that was scanned. {_keeps(now)}",
    ),
    Case(
        IdeaKind.SCAN,
        lambda now: now.is_measured and now.is_better and now.awaits_scan,
        lambda now: f"Scan it with {now.who}. Better for the engine; the guardrail decides",
    ),
    Case(
        IdeaKind.KEEP,
        lambda now: now.is_measured and now.is_better and now.judgement.code is Code.BETTER,
        lambda now: f"Keep it: better than #{now.best}. {_keeps(now)}",
    ),
    Case(
        IdeaKind.MISTAKES,
        lambda now: now.is_best and now.has_plateau,
        lambda now: f"Look at a mistake: {PLATEAU} discards in a row. Try another angle",
    ),
    Case(
        IdeaKind.SCAN,
        lambda now: now.is_best and now.is_forecast,
        lambda now: "Scan it: the guardrail has not judged it",
    ),
    Case(
        IdeaKind.KEEP,
        lambda now: now.is_measured and now.is_better,
        lambda now: f"Keep it, or edit on. A gain on #{now.best} that may be chance. {_keeps(now)}",
        first=False,
    ),
    Case(
        IdeaKind.SCAN,
        lambda now: now.is_forecast and not now.is_best,
        lambda now: "Scan it, or edit on. The forecast is not sure if it is better",
        first=False,
    ),
    Case(
        IdeaKind.SCAN,
        lambda now: now.is_best and now.awaits_scan and not now.is_forecast,
        lambda now: f"Scan it with {now.who}. The guardrail has not answered yet",
        first=False,
    ),
)
"""The cases in their order."""

_NO_MISTAKES = Case(
    IdeaKind.ADD_PROMPTS,
    lambda now: not now.has_mistakes,
    lambda now: "Add harder prompts. No mistakes are left on these",
)
"""The step where nothing else is one."""


def with_next_step(ideas: Ideas, now: Situation) -> Ideas:
    """Return the ideas with the step of the first case that holds, if one does."""
    case = next((case for case in CASES if case.holds(now)), None)
    if case is None and not ideas.ranked and not now.has_mistakes:
        case = _NO_MISTAKES
    if case is None or (ideas.best is not None and ideas.best.kind is IdeaKind.ADD_PROMPTS):
        return ideas
    others = [idea for idea in ideas.ranked if case.kind is not idea.kind]
    likely = 0
    if not case.first:
        likely = sum(
            idea.kind is IdeaKind.CHECK or (idea.gain is not None and idea.gain.likely)
            for idea in others
        )
    others.insert(likely, Idea(case.kind, case.text(now)))
    return replace(ideas, ranked=tuple(others))
