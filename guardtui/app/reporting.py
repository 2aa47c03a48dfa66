"""Reports of the workspace: their subjects, contents, and files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from guardtui.app.context import Context
from guardtui.app.editing.workspace_sync import CompanionTopics
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import AIRS
from guardtui.app.ports import Confirm
from guardtui.app.scan.record import iteration_behind
from guardtui.domain.comparison import compare
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.estimates import rate_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import as_rule
from guardtui.domain.text import display_text
from guardtui.domain.topic import describe_changes
from guardtui.files.atomic import refuse_overwriting, write_atomically
from guardtui.files.problems import FileError, from_os_error
from guardtui.reports.base import ReportError, ReportInput
from guardtui.reports.formats import load_writer
from guardtui.session.own_metrics import OwnMetric, own_figures
from guardtui.session.series import series_of


class ExistsError(GuardtuiError):
    """A file of this name exists."""


@dataclass(frozen=True, slots=True)
class ReportSubject:
    """Subject of a report: the current definition, or the iteration `number`.

    `tag` is its part of the file name; `note` says what the report lacks, or is "".
    """

    title: str
    tag: str
    number: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A report to write: `name` is a path, relative to the folder of the topic file.

    `variant` says whether the variant of the format is wanted, such as CSV for Excel.
    """

    format: str
    subject: ReportSubject
    name: str
    variant: bool = False


MakeReport = Callable[[ReportRequest], ReportInput]


class Reporting:
    """Makes and writes the reports of one workspace."""

    def __init__(
        self,
        context: Context,
        companions: CompanionTopics,
        metrics: Sequence[OwnMetric],
        connections: Connections,
    ) -> None:
        self._store, self._workspace, self._engine = (
            context.store,
            context.workspace,
            context.engine,
        )
        self._companions, self._metrics, self._connections = companions, metrics, connections
        self._author = context.author

    def subjects(self, evaluation: Evaluation) -> list[ReportSubject]:
        """Return the possible subjects: the current definition, then all iterations."""
        session = self._workspace.session
        current = iteration_behind(session, evaluation)
        title, tag = "the current definition", "draft"
        if current is not None:
            title, tag = f"{title}, #{current.number}", str(current.number)
        others = [
            iteration for iteration in reversed(session.iterations) if iteration is not current
        ]
        return [
            ReportSubject(title, tag, None, self._note(evaluation)),
            *(
                ReportSubject(
                    f"iteration #{iteration.number}, {iteration.decision.value}",
                    str(iteration.number),
                    iteration.number,
                    self._note(iteration.evaluation),
                )
                for iteration in others
            ),
        ]

    def _note(self, evaluation: Evaluation) -> str:
        sample = self._workspace.sample
        of_sample = ""
        if sample is not None:
            of_sample = f"a {sample.text}; of all: {self._workspace.whole_command}"
        return "; ".join(filter(None, (of_sample, open_note(evaluation))))

    def report(self, evaluation: Evaluation, subject: ReportSubject) -> ReportInput:
        """Return the contents of a report on the current definition or an iteration."""
        session, prompts = self._workspace.session, self._workspace.prompts
        recorded = iteration_behind(session, evaluation)
        if subject.number is not None:
            recorded = session.iteration(subject.number)
            evaluation = recorded.evaluation
        before = session.baseline if recorded is None else session.baseline_of(recorded)
        measuring = self._engine.measuring
        comparison = compare(before.evaluation, evaluation) if before else None
        ideas = self._store.state.ideas
        return ReportInput(
            topic=evaluation.topic,
            fit=self._engine.own_fit(evaluation),
            prompts=prompts,
            evaluation=evaluation,
            baseline=before.evaluation if before else None,
            comparison=comparison,
            figures=own_figures(self._metrics, evaluation, prompts, comparison),
            iterations=tuple(session.iterations),
            series=series_of(session.iterations, session.best),
            changes=describe_changes(before.evaluation.topic, evaluation.topic) if before else (),
            profile=self._profile_of(evaluation),
            baseline_number=before.number if before else None,
            before=None if recorded is None else recorded.forecast,
            measured_at="" if recorded is None else recorded.created,
            companions=(
                measuring.companions
                if as_rule(evaluation.settings)
                == as_rule(measuring.together(self._engine.scanner.settings_for(prompts)))
                else ()
            ),
            template=self._workspace.store.template(evaluation.settings.guardrail.template),
            iteration=None if recorded is None else recorded.number,
            by=None if recorded is None else recorded.by,
            # What the app shows is about its current definition only.
            next_step="" if ideas is None or ideas.topic != evaluation.topic else ideas.next_step,
        )

    def _profile_of(self, evaluation: Evaluation) -> str:
        """Return the security profile of an evaluation, or that of the command line."""
        connections = self._connections
        if evaluation.settings.kind != AIRS:
            return connections.options.airs.profile or ""
        connection = connections.connection
        return connection.profile if connection is not None else connections.remembered_profile

    def target(self, name: str) -> Path:
        """Return the path of a file name. Raises FileError."""
        folder = self._workspace.topic_file.path.absolute().parent
        try:
            return folder / Path(name).expanduser()
        except (RuntimeError, ValueError) as error:
            raise FileError(name, "not a valid file name") from error

    async def deliver(self, make: MakeReport, request: ReportRequest) -> Path | None:
        """Make a report and write it; asks before a file is overwritten. None if declined.

        Raises FileError and ReportError.
        """
        target = self.target(request.name)

        def write(overwrite: bool) -> None:
            try:
                self.write(make, request, target, overwrite=overwrite)
            except GuardtuiError:
                raise
            except Exception as error:  # a writer may be a plugin
                text = f"the report could not be made ({type(error).__name__}): nothing was written"
                raise ReportError(text) from error

        try:
            await asyncio.to_thread(write, False)
        except ExistsError as exists:
            question = f"{exists}\n\nOverwrite it? Its content is lost."
            if not await self._author.ask(Confirm(question, "Write over it", "No")):
                return None
            await asyncio.to_thread(write, True)
        return target

    def write(
        self, make: MakeReport, request: ReportRequest, target: Path, *, overwrite: bool = False
    ) -> None:
        """Make a report and write it. Blocks, but other threads run meanwhile.

        Raises FileError, ReportError and, without `overwrite`, ExistsError.
        """
        workspace = self._workspace
        companions = self._companions.known.locations
        refuse_overwriting(target, workspace.topic_file.path, workspace.prompts_path, *companions)
        if workspace.store.path.parent in target.parents:
            raise FileError(target, "this folder is for sessions", "name another folder")
        if not overwrite:
            _require_free(target)
        text = load_writer(request.format, variant=request.variant)(make(request))
        if not overwrite:
            _require_free(target)  # making the report took a while
        # A lone surrogate of a topic is not valid in UTF-8.
        write_atomically(target, text.encode("utf-8", "replace"))


def _require_free(target: Path) -> None:
    """Raise ExistsError if the file exists, FileError if that cannot be determined."""
    try:
        exists = target.exists()
    except OSError as error:
        raise from_os_error(target, error) from error
    if target.is_dir():
        raise FileError(target, "the path is a folder", "name a file in it")
    if exists:
        raise ExistsError(f"The file {display_text(target.name)} exists already.")


def open_note(evaluation: Evaluation) -> str:
    """Return how many prompts have no verdict, and the bounds of coverage, or ""."""
    missing = evaluation.metrics.missing
    if not missing:
        return ""
    text = f"{missing} of {len(evaluation.keys)} prompts have no verdict"
    bounds = rate_bounds(evaluation.codes, evaluation.should_trigger)["coverage"]
    return text if bounds is None else f"{text}: coverage is {bounds.low:.3f} to {bounds.high:.3f}"
