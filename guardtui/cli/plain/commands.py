"""The commands of the plain mode: one a line, in the words of the menu."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from guardtui.app.advice.ideas import Idea, IdeaKind
from guardtui.app.editing.new_topic import unwritable
from guardtui.app.guardrails.choice import GuardrailRequest
from guardtui.app.guardrails.named import ENGINE
from guardtui.app.ports import Choose, Confirm
from guardtui.app.reporting import ReportRequest
from guardtui.app.services import Services
from guardtui.app.task_jobs import TaskJobs
from guardtui.cli.diagnostics import Exit, InputError, warn
from guardtui.cli.plain.author import ANSWERS, PlainAuthor
from guardtui.cli.plain.texts import KINDS, PAGE, Mistakes, figures_text, ideas_text
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import did_you_mean, display_start
from guardtui.domain.topic import (
    EXAMPLES_AT_MOST,
    Topic,
    definition_lines,
    describe_changes,
    violations,
)
from guardtui.files.command_lines import command_line
from guardtui.reports.formats import report_formats


@dataclass(frozen=True, slots=True)
class _Command:
    """A command: its arguments, what it does, and the method that gets the rest of the line."""

    arguments: str
    about: str
    run: Callable[[PlainCommands, str], Awaitable[None]]


class PlainCommands:
    """Runs commands on the services of one topic."""

    def __init__(self, services: Services, author: PlainAuthor, jobs: TaskJobs) -> None:
        self._services, self._author, self._jobs = services, author, jobs
        self._mistakes: Mistakes | None = None
        self._listed = 0  # rows of the mistakes that were listed

    async def run(self, line: str) -> None:
        """Run the command of a line; what goes wrong is an error of the author."""
        word, _, rest = line.partition(" ")
        try:
            command = COMMANDS.get(word.lower())
            if command is None and line.lower() in ANSWERS:
                self._author.say("Nothing was asked.")
                return
            if command is None:
                shown = display_start(word, 60)
                raise InputError(
                    f"unknown command '{shown}'{did_you_mean(word.lower(), COMMANDS)}\n"
                    "  help lists the commands"
                )
            await command.run(self, rest.strip())
        except GuardtuiError as problem:
            self._author.fail(str(problem))

    # --- the definition -------------------------------------------------------------------

    async def name(self, text: str) -> None:
        """Write the name."""
        await self._write("name", text)

    async def description(self, text: str) -> None:
        """Write the description."""
        await self._write("description", text)

    async def _write(self, field: str, text: str) -> None:
        if not text:
            raise InputError(f"{field}: no text\n  write it on the same line: {field} TEXT")
        if problem := unwritable(text, f"{field}: it "):
            raise InputError(problem)
        await self._edit(self._services.state.topic.model_copy(update={field: text}))

    async def example(self, rest: str) -> None:
        """Write, add or remove an example."""
        number, _, text = rest.partition(" ")
        text, examples = text.strip(), list(self._services.state.topic.examples)
        highest = min(len(examples) + (text != "-"), EXAMPLES_AT_MOST)
        index = _number(number, highest, "example")
        if text.startswith("#") and text[1:].isdecimal():
            text = self._prompt(text[1:])
        if not text:
            raise InputError(f"example {index}: no text\n  write it on the same line, or - removes")
        if problem := unwritable(text, f"example {index}: it "):
            raise InputError(problem)
        examples[index - 1 : index] = [] if text == "-" else [text]
        await self._edit(
            self._services.state.topic.model_copy(update={"examples": tuple(examples)})
        )

    def _prompt(self, number: str) -> str:
        """Return the text of a listed prompt. Raises InputError."""
        mistakes = self._mistakes
        count = 0 if mistakes is None else len(mistakes.rows)
        index = _number(number, count, "#", "mistakes lists prompts with numbers")
        prompt = None if mistakes is None else mistakes.prompt(index - 1)
        if prompt is None:
            raise InputError(f"#{number}: its text is unknown\n  name another row")
        return prompt

    async def _edit(self, after: Topic) -> None:
        before = self._services.state.topic
        if not self._services.editing.replace(after):
            self._author.say("No change.")
            return
        await self._services.sync.offer_to_take_out(before, after)
        await self._say_changes(before)

    async def _say_changes(self, before: Topic) -> None:
        """Say what was edited, the limits that are exceeded, and the figures."""
        await self._jobs.finished()
        topic = self._services.state.topic
        self._author.say(f"Edited: {', '.join(describe_changes(before, topic)) or 'nothing'}.")
        for problem in violations(topic):
            warn(f"{problem.message}: the guardrail refuses it")
        self._author.say(figures_text(self._services, whole=False))

    async def undo(self, _: str) -> None:
        """Undo the last edit."""
        await self._step("Undone", self._services.editing.undo())

    async def redo(self, _: str) -> None:
        """Redo an undone edit."""
        await self._step("Redone", self._services.editing.redo())

    async def _step(self, verb: str, changes: tuple[str, ...]) -> None:
        if not changes:
            self._author.say("There is no such edit.")
            return
        self._author.say(f"{verb}: {', '.join(changes)}.")
        await self._jobs.finished()
        self._author.say(figures_text(self._services, whole=False))

    # --- what is known of it --------------------------------------------------------------

    async def show(self, _: str) -> None:
        """Show definition and figures."""
        topic = self._services.state.topic
        workspace = self._services.workspace
        edit = f"edit: {', '.join(workspace.changes) or 'unchanged'}"
        file = f"file: {'unsaved edits' if workspace.unsaved else 'saved'}"
        self._author.say("\n".join([*definition_lines(topic), edit, file]))
        self._author.say("\n" + figures_text(self._services, whole=True))

    async def mistakes(self, rest: str) -> None:
        """List mistakes, or show one."""
        known, word = self._mistakes, rest.lower()
        if word.isdecimal():
            count = 0 if known is None else len(known.rows)
            index = _number(word, count, "mistakes", "mistakes without a number lists them")
            self._author.say("" if known is None else known.whole_line(index - 1))
            return
        if word == "more":
            if known is None or self._listed >= len(known.rows):
                self._author.say("There are no more.")
                return
        elif word and word not in KINDS:
            raise InputError(
                f"mistakes: '{display_start(rest, 60)}' is no kind{did_you_mean(word, KINDS)}\n"
                f"  write one of {', '.join(KINDS)}, the number of a row, or more"
            )
        else:
            known = self._mistakes = Mistakes.of(self._services, [word] if word else ["fp", "fn"])
            self._listed = 0
            self._author.say("Nothing is evaluated yet." if known is None else f"{known.title}.")
        if known is not None and known.rows:
            self._author.say("\n".join(known.lines(self._listed)))
            self._listed += PAGE

    # --- the next step --------------------------------------------------------------------

    async def next(self, _: str) -> None:
        """Show the ideas."""
        ideas = await self._services.ideas.current()
        self._author.say(ideas_text(ideas))

    async def take(self, rest: str) -> None:
        """Take the best idea, or another one."""
        ideas = await self._services.ideas.current()
        if not ideas.ranked:
            self._author.say(f"{ideas.note}.")
            return
        idea = ideas.ranked[_number(rest or "1", len(ideas.ranked), "take") - 1]
        if idea.proposal is not None:
            preview = await self._services.previews.measure(idea.proposal.topic)
            self._author.say("\n".join(preview.lines))
            if await self._author.ask(Confirm("Take this edit?", "Take", "Cancel")):
                await self._services.previews.take(preview)
                await self._say_changes(preview.current)
        elif idea.kind is IdeaKind.CHECK:
            self._services.scans.check_flips()
            await self._scanned()
        else:
            raise InputError(f"take: this step has a command of its own\n  {self._elsewhere(idea)}")

    def _elsewhere(self, idea: Idea) -> str:
        """Return the command that takes a step which is no edit."""
        workspace = self._services.workspace
        topic, prompts = workspace.topic_file.path, workspace.prompts_path
        if idea.kind is IdeaKind.MISTAKES:
            return "mistakes lists them; example 4 #1 makes the first one an example"
        if idea.kind in (IdeaKind.LABEL, IdeaKind.ADD_PROMPTS):
            return f"add labelled rows to {prompts}, or: guardtui inbox --help"
        command = command_line("guardtui", "refine", topic, "--prompts", prompts)
        option = "guardrail NAME" if idea.kind is IdeaKind.EXPERIMENT else "writer URL#NAME"
        return f"{command} --{option}"

    # --- decisions, scans, reports --------------------------------------------------------

    async def keep(self, _: str) -> None:
        """Keep the definition."""
        await self._services.decisions.keep()
        await self._scanned(quiet=True)

    async def discard(self, _: str) -> None:
        """Discard the definition, and go back to the best one."""
        before = self._services.state.topic
        await self._services.decisions.discard()
        if self._services.state.topic != before:
            await self._say_changes(before)

    async def scan(self, _: str) -> None:
        """Scan with the guardrail, which is chosen first if none is."""
        if reason := self._services.guardrails.refusal:
            self._author.say(reason)
            if not await self._choose_guardrail():
                self._author.say("The engine has measured this definition:")
                self._author.say(figures_text(self._services, whole=False))
                return
        self._services.scans.scan()
        await self._scanned()

    async def _choose_guardrail(self) -> bool:
        """Let the author choose what scans; return whether it is another than the engine."""
        offer = await self._services.guardrails.offer()
        if offer.problem:
            warn(offer.problem)
        titles = [one.title or one.configuration.subject for one in offer.guardrails]
        title = await self._author.ask(Choose("Guardrail", tuple(titles)))
        if title is None:
            return False
        chosen = offer.guardrails[titles.index(title)]
        await self._services.guardrails.choose(GuardrailRequest(chosen))
        return chosen.kind != ENGINE.kind

    async def _scanned(self, *, quiet: bool = False) -> None:
        """Wait for the end of a scan, and say what came of it; `quiet` if there was none."""
        await self._jobs.finished()
        status = self._services.state.scan
        if status is not None and status.problem:
            self._author.fail(f"{status.who} {status.step}", Exit.NOT_COMPLETED)
        if status is not None or not quiet:
            self._author.say(figures_text(self._services, whole=False))

    async def export(self, rest: str) -> None:
        """Write a report."""
        name, _, file = rest.partition(" ")
        formats, file = report_formats(), file.strip()
        if name not in formats:
            raise InputError(
                f"export: '{display_start(name, 60)}' is no format{did_you_mean(name, formats)}\n"
                f"  write export FORMAT FILE, with one of {', '.join(formats)}"
            )
        if not file:
            raise InputError(f"export {name}: no file\n  write export {name} FILE")
        evaluation = await self._services.preview.current()
        if evaluation is None:
            return
        reporting = self._services.reporting
        subject = reporting.subjects(evaluation)[0]
        request = ReportRequest(name, subject, str(Path.cwd() / Path(file).expanduser()))
        path = await reporting.deliver(
            lambda request: reporting.report(evaluation, request.subject), request
        )
        if path is not None:
            self._author.say(f"Written: {path}")
            if subject.note:
                warn(subject.note)

    async def help(self, _: str) -> None:
        """List the commands."""
        usages = {f"{name} {one.arguments}".strip(): one.about for name, one in COMMANDS.items()}
        width = max(map(len, usages))
        lines = [f"{usage:<{width}}  {about}" for usage, about in usages.items()]
        self._author.say("\n".join([*lines, _END]))


def _number(text: str, highest: int, what: str, remedy: str = "") -> int:
    """Return a number from 1 to `highest`. Raises InputError."""
    if text.isdecimal() and len(text) < 9 and 0 < int(text) <= highest:
        return int(text)
    shown = display_start(text, 60)
    raise InputError(
        f"{what}: '{shown}' is not a number from 1 to {highest}\n  "
        + (remedy or "write its number first")
    )


COMMANDS = {
    "name": _Command("TEXT", "write the name", PlainCommands.name),
    "description": _Command("TEXT", "write the description", PlainCommands.description),
    "example": _Command(
        "N TEXT|#ROW|-",
        "write or add an example, take the prompt of a listed row, or remove it",
        PlainCommands.example,
    ),
    "undo": _Command("", "undo the last edit", PlainCommands.undo),
    "redo": _Command("", "redo it", PlainCommands.redo),
    "show": _Command("", "the definition, its figures, and what was edited", PlainCommands.show),
    "mistakes": _Command(
        "[fp|fn|broke|fixed|failed|more|ROW]", "list prompts, or show one", PlainCommands.mistakes
    ),
    "next": _Command("", "the best next steps", PlainCommands.next),
    "take": _Command("[N]", "take one of them, the best by default", PlainCommands.take),
    "keep": _Command("", "record the definition, and save it", PlainCommands.keep),
    "discard": _Command("", "go back to the best definition", PlainCommands.discard),
    "scan": _Command("", "ask the guardrail about every prompt", PlainCommands.scan),
    "export": _Command("FORMAT FILE", "write a report", PlainCommands.export),
    "help": _Command("", "list the commands", PlainCommands.help),
}
"""The commands by their word; `quit` ends the loop."""

_END = "quit, or the end of the input: edits that are not kept come back when the topic is opened"
