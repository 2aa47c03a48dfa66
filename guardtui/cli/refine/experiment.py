"""`guardtui refine --experiment`: candidates tried on the guardrail, with cost asked first."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate
from guardtui.advice.model_answers import SuggestionError
from guardtui.advice.model_wordings import shown_mistakes
from guardtui.app.advice.wording_trials import mistakes_note
from guardtui.app.advice.wordings import read_wordings, wording_call
from guardtui.app.advice.writer_call import WriterError
from guardtui.app.airs.profile_changes import ProfileChanges
from guardtui.app.experiments.airs import AirsAnswering, most_applies
from guardtui.app.experiments.headless import HeadlessExperiment
from guardtui.app.experiments.interrupted import interrupted, revert_interrupted
from guardtui.app.experiments.models import ModelAnswering
from guardtui.app.experiments.planning import (
    Design,
    design_of,
    experiment_rows,
    gathered,
    require_labels,
)
from guardtui.app.experiments.run import ExperimentRun
from guardtui.app.experiments.status import ExperimentStatus
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.app.guardrails.remote import RemoteOptions, at_stored_threshold
from guardtui.app.scan.recording import EvaluatedFiles
from guardtui.cli import airs_service, diagnostics, signals
from guardtui.cli.diagnostics import InputError
from guardtui.cli.guardrail_options import AIRS, ENGINE
from guardtui.cli.operating_point import settled_engine, show_progress
from guardtui.cli.scans.airs import require_sendable
from guardtui.cli.scans.models import configured_model, models_and_writer
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import change_text, count_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.operating_point import BY_HAND, FITTED, Wanted
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.http.errors import ServiceError
from guardtui.reports.base import usage_text
from guardtui.reports.experiment import ExperimentReport
from guardtui.scanners.base import ScannerError
from guardtui.scanners.configuration import AirsConfiguration
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.session import Iteration, Recorder
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class ExperimentCommand:
    """An experiment with the options of the command line; `words` are its command and guardrail.

    `files` are the topic file and its prompts.
    """

    files: EvaluatedFiles
    topic: Topic
    prompts: PromptSet
    guardrail: NamedGuardrail
    threshold: Wanted
    encoder: str | None
    words: Sequence[str]
    calls: int | None
    test_profile: str | None
    resume: bool
    yes: bool
    wordings: Path | None
    writer: str | None

    def run(self, keep: Callable[[Topic], None] | None) -> ExperimentReport | None:
        """Make the experiment, and record what `keep` has written; None if the author declined.

        Raises UsageError, `InputError`, KeyboardInterrupt, and the errors of the guardrail.
        """
        if self.guardrail.kind == ENGINE:
            raise click.UsageError(
                "--experiment asks a guardrail, and the engine is none: name one with --guardrail"
            )
        if self.resume and (self.wordings or self.writer):
            raise click.UsageError("--resume has its candidates: omit --wordings and --writer")
        answering = self._airs() if self.guardrail.kind == AIRS else self._model()
        try:
            return signals.run(self._made(answering, keep))
        except KeyboardInterrupt:
            if self._unfinished(answering) is not None:
                diagnostics.note(f"every verdict is stored; to go on: {self._resuming}")
            raise

    @property
    def _known(self) -> SessionStore | None:
        """The session, if there is one: it is created only for an experiment that is made."""
        return SessionStore(self.files.topic) if has_session(self.files.topic) else None

    # --- the guardrail ----------------------------------------------------------------------

    def _model(self) -> ModelAnswering:
        """Return the model, a decision model at its current threshold."""
        if self.test_profile:
            raise click.UsageError("--test-profile is for AIRS: omit it")
        models, _ = self._models_and_writer()
        options = configured_model(self.guardrail.configuration, models)
        if not isinstance(options, DecisionOptions):
            return ModelAnswering(options)
        if self.threshold == FITTED:
            raise click.UsageError(
                "--threshold fitted does not fit --experiment: all candidates have the threshold "
                "that is in use"
            )
        if isinstance(self.threshold, float):
            return ModelAnswering(options.at_threshold(self.threshold, BY_HAND))
        if self.threshold is None:
            return ModelAnswering(at_stored_threshold(options, self.files.topic))
        return ModelAnswering(options)

    def _airs(self) -> AirsAnswering:
        """Return the profile for tests."""
        configuration = self.guardrail.configuration
        assert isinstance(configuration, AirsConfiguration)  # noqa: S101 - by its kind
        self._models_and_writer()
        require_sendable(self.topic)
        production = airs_service.load_settings(**configuration.flags)
        if not self.test_profile:
            name = shlex.quote(production.profile or "NAME")
            raise InputError(
                "an experiment on AIRS puts each candidate into a profile\n"
                "  name one for tests with --test-profile; "
                f"--test-profile {name} uses the production profile, where candidates judge real "
                "traffic meanwhile"
            )
        with airs_service.failures_told():
            production.management()
            connection = self._options.connect(production, self.test_profile)
        store = SessionStore(self.files.topic)
        return AirsAnswering(
            connection,
            production.profile,
            self.topic,
            self.files.topic,
            store,
            ProfileChanges(self.files.topic),
            tell=_warn,
        )

    @property
    def _options(self) -> RemoteOptions:
        configuration = self.guardrail.configuration
        if isinstance(configuration, AirsConfiguration):
            return RemoteOptions(airs=configuration)
        return RemoteOptions()

    async def _revert_interrupted(self) -> None:
        """Revert experiments on profiles that were killed. Raises AirsError and `InputError`."""
        store, changes = self._known, ProfileChanges(self.files.topic)
        for found in [] if store is None else interrupted(store):
            assert store is not None  # noqa: S101 - it has the experiment
            diagnostics.note(f"{found.text}: it is reverted")
            with airs_service.failures_told("not reverted, and nothing was asked"):
                done = await revert_interrupted(found, self._options, changes, store)
            for warning in done.warnings:
                diagnostics.warn(warning)

    # --- the experiment ---------------------------------------------------------------------

    async def _made(
        self,
        answering: ModelAnswering | AirsAnswering,
        keep: Callable[[Topic], None] | None,
    ) -> ExperimentReport | None:
        if isinstance(answering, AirsAnswering):
            await self._revert_interrupted()
        record = self._unfinished(answering)
        if self.resume:
            if record is None:
                raise self._nothing_to_resume()
            design, known = design_of(record, self.prompts), None
            log = ExperimentLog(SessionStore(self.files.topic))
            verdicts = log.verdicts(record)
            if 0 in verdicts:
                known = record.evaluation(0, verdicts[0].verdicts())
            answered = sum(
                int((column.verdicts().triggered >= 0).sum()) for column in verdicts.values()
            )
            diagnostics.note(
                f"goes on with the experiment of {record.created}: {answered:,} verdicts are "
                f"stored, {count_text(record.calls, 'call')} made"
            )
            of_definition = 0 if known is None else known.metrics.total
            looked = await self._look(answering)
            if not self._agreed(design, known, answering, looked, answered - of_definition):
                return None
        else:
            if record is not None:
                diagnostics.note(
                    f"an experiment of {record.created} is unfinished: --resume goes on with it"
                )
            known = self._headless(answering).known()
            candidates = await self._candidates(known)
            if candidates is None:
                return None
            design = Design(self.prompts, self.topic, tuple(candidates))
            looked = await self._look(answering)
            cached = await asyncio.to_thread(answering.cached, design.definitions, self.prompts)
            if self.calls is not None:
                design = self._limited(design, known, cached)
            if not self._agreed(design, known, answering, looked, cached=cached):
                return None
            titled = "" if self.test_profile else self.guardrail.name
            record = self._headless(answering).begun(design, known, titled)
        return await self._run(record, answering, keep)

    def _headless(self, answering: ModelAnswering | AirsAnswering) -> HeadlessExperiment:
        return HeadlessExperiment(self.files, self.topic, self.prompts, answering, Recorder.COMMAND)

    async def _run(
        self,
        record: ExperimentRecord,
        answering: ModelAnswering | AirsAnswering,
        keep: Callable[[Topic], None] | None,
    ) -> ExperimentReport:
        headless = self._headless(answering)
        run = headless.run_of(record)
        try:
            # The calls of earlier runs do not count.
            most = None if self.calls is None else record.calls + self.calls
            status = await _watched(run, most)
        except (ScannerError, ServiceError):
            diagnostics.note(f"every verdict is stored; to go on: {self._resuming}")
            raise
        if status.stopped:
            diagnostics.error(
                f"not completed: {status.stopped}\n"
                f"  every verdict is stored; to go on: {self._resuming}"
            )
        best, kept = run.best(), False
        if best is not None and status.best is not None:
            if keep is not None:
                keep(best.topic)  # before it is recorded as kept: writing may fail
                kept = True
            self._say_recorded(headless.record_better(run, kept=kept), kept=kept)
        return headless.report_of(run, status, kept=kept)

    def _say_recorded(self, recorded: Iteration | None, *, kept: bool) -> None:
        """Say as which iteration a better candidate was recorded, and how to keep it."""
        if recorded is None:
            return
        number = str(recorded.number)
        words = ["guardtui", "history", "keep", str(self.files.topic), "--iteration", number]
        text = f"candidate recorded as #{number}"
        if not kept:
            # Not all prompts were asked, and those that count were compared by the experiment.
            text += f"; to keep it: {shlex.join([*words, '--anyway'])}"
        diagnostics.note(text)

    def _unfinished(self, answering: ModelAnswering | AirsAnswering) -> ExperimentRecord | None:
        settings, store = answering.settings, self._known
        if store is None:
            return None
        fingerprint = self.prompts.fingerprint
        found = ExperimentLog(store).unfinished(self.topic, settings.guardrail, fingerprint)
        if self.resume and found is not None and found.settings.threshold != settings.threshold:
            raise InputError(
                f"the unfinished experiment is at the threshold {found.settings.threshold:g}, and "
                f"that of the model is {settings.threshold:g} now\n"
                f"  give --threshold {found.settings.threshold!r}, or begin a new one"
            )
        return found

    def _nothing_to_resume(self) -> InputError:
        store = self._known
        recorded_ones = [] if store is None else ExperimentLog(store).experiments()
        open_ = [record for record in recorded_ones if not record.ending]
        if not open_:
            return InputError(
                f"{self.files.topic}: no experiment is unfinished\n  omit --resume to begin one"
            )
        newest = open_[-1]
        reasons = []
        if newest.topic != self.topic:
            reasons.append("the definition was changed")
        if newest.prompt_set != self.prompts.fingerprint:
            reasons.append("the prompts were changed")
        if not reasons:
            reasons.append(f"it asks {guardrail_text(newest.settings)}")
        return InputError(
            f"{self.files.topic}: the unfinished experiment of {newest.created} does not fit: "
            f"{' and '.join(reasons)}\n  undo that, or omit --resume to begin another"
        )

    @property
    def _resuming(self) -> str:
        more = ["--test-profile", self.test_profile] if self.test_profile else []
        more += (
            [] if not isinstance(self.threshold, float) else ["--threshold", str(self.threshold)]
        )
        return shlex.join([*self.words, *more, "--resume"])

    # --- candidates and cost ----------------------------------------------------------------

    async def _candidates(self, known: Evaluation | None) -> Sequence[Candidate] | None:
        """Return the candidates; None if the author declined the call to the writer."""
        typed = [] if self.wordings is None else read_wordings(self.wordings, self.topic)
        require_labels(self.topic, self.prompts)
        _, writer = self._models_and_writer()
        engine = settled_engine(self.encoder, None, self.topic, self.prompts)
        given = [*typed]
        if writer is not None:
            if known is None or known.metrics.missing:
                known = await asyncio.to_thread(
                    engine.evaluate_now, self.topic, self.prompts, show_progress
                )
                diagnostics.progress("")
                assert known is not None  # noqa: S101 - nothing stops it
            written = await self._written(writer, known)
            if written is None:
                return None
            given += written
        found = await asyncio.to_thread(
            gathered, self.topic, self.prompts, given, engine, show_progress
        )
        diagnostics.progress("")
        return found

    def _models_and_writer(self) -> tuple[list[ModelAddress], JudgeOptions | None]:
        """Return the models of the guardrail and the writer, each with its own key.

        Raises UsageError and `InputError`.
        """
        configuration = self.guardrail.configuration
        return models_and_writer(
            getattr(configuration, "model", ()),
            self.writer,
            allow_http=bool(getattr(configuration, "allow_http", False)),
            retries=getattr(configuration, "retries", None),
            max_tokens=getattr(configuration, "max_tokens", None),
        )

    async def _written(self, writer: JudgeOptions, known: Evaluation) -> Sequence[Candidate] | None:
        """Return the wordings of a writer; None if the author declined."""
        rows = experiment_rows(self.prompts)
        try:
            call = wording_call(writer, self.topic, shown_mistakes(known, self.prompts, rows))
        except SuggestionError as error:
            diagnostics.warn(f"--writer {writer.title} is not asked: {error}")
            return ()
        if call.is_cached:
            diagnostics.note(f"no call to {writer.title}: its wordings are in the cache")
        else:
            diagnostics.note(f"{writer.title} is sent {call.sent_text}: {call.cost_text}")
            if not self._confirmed():
                return None
        try:
            written = await call.written()
        except WriterError as error:
            if self.wordings is None:
                raise
            diagnostics.warn(f"--writer {error}\n  only the other wordings are tried")
            return ()
        for problem in written.invalid:
            diagnostics.warn(f"--writer: {problem}")
        if call.budget.spent.calls:
            diagnostics.note(f"{writer.title}: {usage_text(call.budget.spent)}")
        # A prompt that the writer was shown cannot tell how good its wording is.
        shown = written.shown
        diagnostics.note(mistakes_note(shown))
        return [
            replace(wording, sources=(*wording.sources, *shown.left_out))
            for wording in written.wordings
        ]

    def _limited(
        self, design: Design, known: Evaluation | None, cached: NDArray[np.bool_]
    ) -> Design:
        assert self.calls is not None  # noqa: S101 - it is limited
        limited = design.within(self.calls, known, cached)
        left_out = len(design.candidates) - len(limited.candidates)
        if left_out:
            diagnostics.note(
                f"{self.calls:,} calls are for {count_text(len(limited.candidates), 'candidate')}: "
                f"{left_out} more are left out"
            )
        most = limited.calls(known, cached).most
        if most > self.calls:
            diagnostics.warn(
                f"{self.calls:,} calls may not reach the end, which takes up to {most:,}"
            )
        return limited

    async def _look(self, answering: ModelAnswering | AirsAnswering) -> tuple[str, ...]:
        """Return in sentences what happens to a profile. Raises `InputError` and AirsError."""
        if not isinstance(answering, AirsAnswering):
            return ()
        with airs_service.failures_told():
            return await answering.look()

    def _agreed(
        self,
        design: Design,
        known: Evaluation | None,
        answering: ModelAnswering | AirsAnswering,
        looked: Sequence[str],
        answered: int | None = None,
        cached: NDArray[np.bool_] | None = None,
    ) -> bool:
        """Say what the experiment takes, and return whether the author agrees.

        With verdicts `answered` on candidates it was begun before. `looked` says what happens to a
        profile; `cached` verdicts, bool [k, N], take no call.
        """
        calls = design.calls(known, cached)
        most = max(0, calls.most - (answered or 0))
        number = f"{calls.least:,} to {most:,}" if answered is None else f"up to {most:,} more"
        text = (
            f"{count_text(len(design.candidates), 'candidate')} on "
            f"{guardrail_text(answering.settings)}: "
            f"{number} calls on {count_text(len(self.prompts), 'prompt')}"
        )
        if calls.current:
            text += f", {calls.current:,} of them for the definition itself"
        if held_out := len(self.prompts) - len(experiment_rows(self.prompts)):
            text += (
                f"; {count_text(held_out, 'prompt')} held out by the column split: asked for the "
                "definition only"
            )
        diagnostics.note(text)
        for line in looked:
            diagnostics.note(line)
        if isinstance(answering, AirsAnswering):
            diagnostics.note(answering.duration(most_applies(len(design.candidates)), most))
        else:
            diagnostics.note(answering.cost(self.topic, self.prompts, most))
        return self.calls is not None or self._confirmed()

    def _confirmed(self) -> bool:
        """Return whether the author agrees to what was noted. Raises UsageError if none can."""
        if self.yes or self.calls is not None:
            return True
        if not diagnostics.can_ask():
            raise click.UsageError(
                "nothing was asked: add --yes, or a maximum number of calls with --calls N"
            )
        return click.confirm("Continue?", err=True)


def _warn(message: str) -> None:
    diagnostics.progress("")
    diagnostics.warn(message)


async def _watched(run: ExperimentRun, most: int | None) -> ExperimentStatus:
    """Run with progress on standard error."""
    task = asyncio.create_task(run.run(most))
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_SECONDS))[0]:
            diagnostics.progress(_progress(run.status))
    except asyncio.CancelledError:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        raise
    finally:
        diagnostics.progress("")
    return task.result()


def _progress(status: ExperimentStatus) -> str:
    text = f"{status.step}: {status.calls:,} calls of at most {status.most:,}"
    gains = [
        candidate.standing.gain
        for candidate in status.candidates
        if candidate.standing.gain is not None
    ]
    if gains:
        left = sum(candidate.standing.dropped is None for candidate in status.candidates)
        text += f", {left} candidates left, the best {change_text(max(gains))}"
    if status.traffic is not None and status.traffic.used is not None:
        used = usage_text(status.traffic.used)
        text += f", {used}" if used else ""
    return text
