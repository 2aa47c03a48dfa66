"""Reports of the workspace: what one can be about, what it holds, and writing it to a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from guardtui.advice.reported import survey_for_report
from guardtui.app.companion_topics import CompanionTopics
from guardtui.app.connections import Connections
from guardtui.app.engine import Engine
from guardtui.app.recording import iteration_of
from guardtui.app.remote import AIRS
from guardtui.app.state import Store
from guardtui.domain.comparison import compare
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.estimates import rate_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import is_fitted_with
from guardtui.domain.text import display_text
from guardtui.domain.topic import describe_changes
from guardtui.files.atomic import refuse_overwriting, write_atomically
from guardtui.files.problems import FileError, from_os_error
from guardtui.reports.apart import report_bytes
from guardtui.reports.base import ReportInput
from guardtui.session.judge_templates import template_of
from guardtui.session.own_metrics import OwnMetric, own_figures
from guardtui.session.session import Decision, Iteration, Session
from guardtui.session.workspace import Workspace


class ExistsError(GuardtuiError):
    """There is a file of this name; the message names it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report can be about: the definition as it is, or an iteration of this number.

    `tag` names it in the file's name; `note` says what a report of it lacks, or "".
    """

    title: str
    tag: str
    number: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A report to write: `name` is a path, relative to the folder of the topic file."""

    format: str
    subject: Subject
    name: str


MakeReport = Callable[[ReportRequest], ReportInput]


class Reporting:
    """Makes and writes the reports of one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        engine: Engine,
        companions: CompanionTopics,
        metrics: Sequence[OwnMetric],
        connections: Connections,
        store: Store,
    ) -> None:
        self._store = store
        self._workspace, self._engine, self._companions = workspace, engine, companions
        self._metrics, self._connections = metrics, connections

    def subjects(self, evaluation: Evaluation) -> list[Subject]:
        """Return what a report can be about: the definition as it is, then all iterations."""
        session = self._workspace.session
        current = iteration_of(session, evaluation)
        title, tag = "the definition as it is", "draft"
        if current is not None:
            title, tag = f"{title}, #{current.number}", str(current.number)
        others = [one for one in reversed(session.iterations) if one is not current]
        return [
            Subject(title, tag, None, self._note(evaluation)),
            *(
                Subject(
                    f"iteration #{iteration.number}, {iteration.decision.value}",
                    str(iteration.number),
                    iteration.number,
                    self._note(iteration.evaluation),
                )
                for iteration in others
            ),
        ]

    def _note(self, evaluation: Evaluation) -> str:
        large = self._workspace.large
        of_sample = ""
        if large is not None and len(large[1].prompts) != large[1].of:
            of_sample = f"a {large[1].text}: of all, Advice → All of the large set"
        return "; ".join(filter(None, (of_sample, open_note(evaluation))))

    def report(self, evaluation: Evaluation, subject: Subject) -> ReportInput:
        """Return all that a report can show of the definition as it is, or of an iteration."""
        session, prompts = self._workspace.session, self._workspace.prompts
        recorded = iteration_of(session, evaluation)
        if subject.number is not None:
            recorded = session.iteration(subject.number)
            evaluation = recorded.evaluation
        before = session.baseline if recorded is None else baseline_of(session, recorded)
        measuring = self._engine.measuring
        comparison = compare(before.evaluation, evaluation) if before else None
        fit = self._store.state.fit_for(evaluation.settings)
        return ReportInput(
            topic=evaluation.topic,
            fit=fit if fit is not None and is_fitted_with(evaluation, fit) else None,
            prompts=prompts,
            evaluation=evaluation,
            baseline=before.evaluation if before else None,
            comparison=comparison,
            figures=own_figures(self._metrics, evaluation, prompts, comparison),
            iterations=tuple(session.iterations),
            changes=describe_changes(before.evaluation.topic, evaluation.topic) if before else (),
            profile=self._profile_of(evaluation),
            baseline_number=before.number if before else None,
            before=None if recorded is None else recorded.forecast,
            measured_at="" if recorded is None else recorded.created,
            companions=(measuring.companions if evaluation.settings == measuring.settings else ()),
            template=template_of(self._workspace.store, evaluation.settings),
        )

    def _profile_of(self, evaluation: Evaluation) -> str:
        """Return the security profile of an evaluation, or what the command line named."""
        connections = self._connections
        if evaluation.settings.name != AIRS:
            return str(connections.options.flags.get("profile") or "")
        connection = connections.connection
        return connection.profile if connection is not None else connections.remembered_profile

    def target(self, name: str) -> Path:
        """Return the path that a name stands for. Raises FileError."""
        folder = self._workspace.topic_file.path.absolute().parent
        try:
            return folder / Path(name).expanduser()
        except (RuntimeError, ValueError) as error:
            raise FileError(name, "this is no file name") from error

    def write(
        self, make: MakeReport, request: ReportRequest, target: Path, *, overwrite: bool = False
    ) -> None:
        """Make a report and write it. Blocks.

        Raises FileError, ReportError and, unless it may `overwrite`, ExistsError.
        """
        workspace = self._workspace
        companions = [file.location for file in self._companions.known.files]
        refuse_overwriting(target, workspace.topic_file.path, workspace.prompts_path, *companions)
        if workspace.store.path.parent in target.parents:
            raise FileError(target, "this is where sessions are kept", "name another folder")
        if not overwrite:
            _require_free(target)
        report = self._with_survey(make(request), request.format)
        data = report_bytes(request.format, report)
        if not overwrite:
            _require_free(target)  # that took a while
        write_atomically(target, data)

    def _with_survey(self, report: ReportInput, name: str) -> ReportInput:
        """Return the report with its groups of similar prompts, for a format that shows them."""
        if name != "html" or report.survey is not None or report.category_metrics is not None:
            return report
        survey = survey_for_report(self._engine.scanner, report.prompts, report.evaluation)
        return replace(report, survey=survey)


def _require_free(target: Path) -> None:
    """Raise ExistsError when there is a file of this name, FileError when that is unknown."""
    try:
        exists = target.exists()
    except OSError as error:
        raise from_os_error(target, error) from error
    if target.is_dir():
        raise FileError(target, "this is a folder", "name a file in it")
    if exists:
        raise ExistsError(f"There is a file {display_text(target.name)} already.")


def baseline_of(session: Session, iteration: Iteration) -> Iteration | None:
    """Return the pinned iteration, or the one of the same scanner kept last before this one."""
    if session.pinned is not None and session.pinned != iteration.number:
        return session.baseline
    scanner = iteration.evaluation.settings.name
    kept = [
        earlier
        for earlier in session.iterations
        if earlier.decision is Decision.KEEP
        and earlier.number < iteration.number
        and earlier.evaluation.settings.name == scanner
    ]
    return kept[-1] if kept else None


def open_note(evaluation: Evaluation) -> str:
    """Return how many prompts have no verdict and what that leaves open; "" when all have one."""
    missing = evaluation.metrics.missing
    if not missing:
        return ""
    text = f"{missing} of {len(evaluation.keys)} prompts have no verdict"
    bounds = rate_bounds(evaluation.codes, evaluation.should_trigger)["coverage"]
    return text if bounds is None else f"{text}: coverage is {bounds.low:.3f} to {bounds.high:.3f}"
