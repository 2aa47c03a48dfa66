"""The commands of the plain mode: one a line, in the words of the menu."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from guardtui.app.advice.ideas import Idea, IdeaKind
from guardtui.app.advice.mistake_advice import MistakeAdvice
from guardtui.app.editing.deciding import over_limits
from guardtui.app.editing.new_topic import unwritable
from guardtui.app.ports import Confirm
from guardtui.app.reporting import ReportRequest
from guardtui.app.services import Services
from guardtui.app.task_jobs import TaskJobs
from guardtui.cli.diagnostics import Exit, InputError, warn
from guardtui.cli.plain.author import ANSWERING, ANSWERS, PlainAuthor
from guardtui.cli.plain.texts import (
    KINDS,
    NOTHING,
    PAGE,
    Mistakes,
    edit_text,
    figures_text,
    ideas_text,
)
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import change_text
from guardtui.domain.text import did_you_mean, display_start, display_text
from guardtui.domain.topic import (
    EXAMPLES_AT_MOST,
    Topic,
    definition_lines,
    describe_changes,
    violations,
)
from guardtui.files.command_lines import command_line
from guardtui.reports.formats import report_formats

_CORRECTIONS = 3
"""Edits that are shown for one mistake."""

_WRONG = ("fp", "fn", "broke")
"""Kinds of prompts that edits can correct; the first two are listed by default."""

_ONE_ROW = (
    "mistakes ROW says why one is wrong and which edits correct it; take #ROW N takes such an edit."
)

_ALL = 10**6  # characters of a prompt that is shown whole


class PlainCommands:
    """Runs commands on the services of one topic; each gets the rest of its line."""

    def __init__(self, services: Services, author: PlainAuthor, jobs: TaskJobs) -> None:
        self._services, self._author, self._jobs = services, author, jobs
        self._mistakes: Mistakes | None = None
        self._listed = 0  # rows of the mistakes that were listed

    async def run(self, line: str) -> None:
        """Run the command of a line; what goes wrong is an error of the author."""
        word, _, rest = line.partition(" ")
        try:
            if line.lower() in ANSWERS:
                self._author.say("Nothing was asked.")
            elif (command := COMMANDS.get(word.lower())) is not None:
                await command[2](self, rest.strip())
            else:
                near = did_you_mean(word.lower(), [*COMMANDS, "quit"])
                problem = f"unknown command '{display_start(word, 60)}'{near}"
                raise InputError(f"{problem}\n  help lists the commands")
        except GuardtuiError as problem:
            self._author.fail(str(problem))

    def _say_figures(self) -> None:
        self._author.say(figures_text(self._services, whole=False))

    # --- the definition -------------------------------------------------------------------

    async def name(self, text: str) -> None:
        """Write the name."""
        await self._edit(self._with("name", text))

    async def description(self, text: str) -> None:
        """Write the description."""
        await self._edit(self._with("description", text))

    async def example(self, rest: str) -> None:
        """Write, add or remove an example; its text may be a listed row."""
        number, _, text = rest.partition(" ")
        text, examples = text.strip(), [*self._services.state.topic.examples]
        highest = min(len(examples) + (text != "-"), EXAMPLES_AT_MOST)
        index = _number(number, highest, "example", "write its number first")
        is_row = text.startswith("#") and text[1:].isdecimal()
        if is_row:
            mistakes, row = self._row(text[1:])
            text = mistakes.prompt(row)
        replaced = [] if text == "-" else [_written(f"example {index}", text)]
        examples[index - 1 : index] = replaced
        after = self._services.state.topic.model_copy(update={"examples": tuple(examples)})
        if is_row and (broken := violations(after)):  # else its prompt would leave the file
            raise InputError(f"{broken[0].message}\n  take another prompt: nothing was changed")
        await self._edit(after)

    def _row(self, number: str) -> tuple[Mistakes, int]:
        """Return the index of a listed row. Raises InputError."""
        mistakes, remedy = self._mistakes, "mistakes lists prompts with numbers"
        if mistakes is None or not mistakes.rows:
            raise InputError(f"row {number}: no prompts are listed\n  {remedy}")
        return mistakes, _number(number, len(mistakes.rows), "row", remedy) - 1

    def _with(self, field: str, text: str) -> Topic:
        """Return the definition with the text of a field. Raises InputError."""
        return self._services.state.topic.model_copy(update={field: _written(field, text)})

    async def _edit(self, after: Topic) -> None:
        before = self._services.state.topic
        if not self._services.editing.replace(after):
            self._author.say("No change.")
            return
        await self._services.sync.offer_to_take_out(before, after)
        await self._edited(describe_changes(before, self._services.state.topic))

    async def _edited(self, changes: Sequence[str], verb: str = "Edited") -> None:
        """Say what was edited, which limits are exceeded, and the figures."""
        await self._jobs.finished()
        self._author.say(f"{verb}: {', '.join(changes) or 'nothing'}.")
        if problem := over_limits(self._services.state.topic):
            warn(problem)
        self._say_figures()

    async def undo(self, _: str) -> None:
        """Undo the last edit."""
        await self._stepped(self._services.editing.undo, "Undone")

    async def redo(self, _: str) -> None:
        """Redo an undone edit."""
        await self._stepped(self._services.editing.redo, "Redone")

    async def _stepped(self, step: Callable[[], tuple[str, ...]], verb: str) -> None:
        before = self._services.state.topic
        changes = step()
        await self._services.sync.follow(before)
        await self._edited(changes, verb)

    # --- what is known of it --------------------------------------------------------------

    async def show(self, _: str) -> None:
        """Show the definition, its figures, and what was edited."""
        workspace = self._services.workspace
        edit = f"edit: {', '.join(workspace.changes) or 'unchanged'}"
        file = f"file: {'unsaved edits' if workspace.unsaved else 'saved'}"
        fields = map(display_text, definition_lines(self._services.state.topic))
        self._author.say("\n".join([*fields, edit, file]))
        self._author.say("\n" + figures_text(self._services, whole=True))

    async def mistakes(self, rest: str) -> None:
        """List prompts with numbers, or show one."""
        word, evaluation = rest.lower(), self._services.state.evaluation
        if word.isdecimal():
            await self._explain(word)
            return
        if word not in ("", "more", *KINDS):
            near = did_you_mean(word, KINDS)
            raise InputError(
                f"mistakes: '{display_start(rest, 60)}' is no kind{near}\n"
                f"  write one of {', '.join(KINDS)}, the number of a row, or more"
            )
        if evaluation is None:
            self._author.say(NOTHING)
            return
        if word != "more" or self._mistakes is None:
            kinds = [word] if word in KINDS else _WRONG[:2]
            self._mistakes = Mistakes.of(self._services, evaluation, kinds)
            self._author.say(f"{self._mistakes.title}.")
            self._listed = 0
        lines = self._mistakes.page(self._listed)
        self._listed += PAGE
        if lines or word == "more":
            self._author.say("\n".join(lines) or "There are no more.")
        if lines and word in ("", *_WRONG):
            self._author.say(_ONE_ROW)

    async def _explain(self, number: str) -> None:
        """Show a row with its whole texts, why it is a mistake, and what would correct it."""
        mistakes, index = self._row(number)
        self._author.say(mistakes.line(index, _ALL))
        advice = await self._advice(number)
        if advice is None:
            return
        self._author.say(f"{advice.why}\n{advice.outcome}")
        found = advice.measured[:_CORRECTIONS]
        for place, one in enumerate(found, 1):
            shown = one.preview.comparison
            counts = f"{change_text(one.preview.gain)}, {shown.fixes} fixed, "
            self._author.say(f"{place}. {one.change}: {counts}{shown.regressions} broke")
        if found:
            self._author.say(f"take #{number} N takes one, the first by default.")

    async def _advice(self, number: str) -> MistakeAdvice | None:
        """Return the advice on a listed row; None, with a message, if there is none."""
        mistakes, index = self._row(number)
        advice = await self._services.mistakes.explain(mistakes.key(index))
        if isinstance(advice, str):
            self._author.say(advice)
            return None
        return advice

    # --- the next step --------------------------------------------------------------------

    async def next(self, _: str) -> None:
        """Show the best next steps."""
        self._author.say(ideas_text(await self._services.ideas.current()))

    async def take(self, rest: str) -> None:
        """Take one of them, or one that corrects a listed row; by default the first it can."""
        if rest.startswith("#"):
            row, _, place = rest[1:].partition(" ")
            advice = await self._advice(row)
            edits = () if advice is None else advice.measured[:_CORRECTIONS]
            if edits:
                remedy = f"mistakes {row} lists them"
                edit = edits[_number(place or "1", len(edits), "take", remedy) - 1]
                await self._take(edit.preview.topic)
            elif advice is not None:
                self._author.say(advice.outcome)
            return
        ideas = await self._services.ideas.current()
        if not ideas.ranked:
            self._author.say(f"{ideas.note}.")
            return
        highest, best = len(ideas.ranked), ideas.ranked[0]
        if rest:
            idea = ideas.ranked[_number(rest, highest, "take", "next lists the steps") - 1]
        else:
            takeable = (one for one in ideas.ranked if one.proposal or one.kind in _COMMANDS)
            idea = next(takeable, best)
        if idea is not best and not rest:
            self._author.say(f"Step {ideas.ranked.index(idea) + 1}: {idea.line}")
        if idea.proposal is not None:
            await self._take(idea.proposal.topic)
        elif idea.kind in _COMMANDS:
            await _COMMANDS[idea.kind](self, "")
        else:
            raise InputError(f"take: this step has a command of its own\n  {self._elsewhere(idea)}")

    async def _take(self, topic: Topic) -> None:
        """Show what an edit does, and take it if the author agrees."""
        preview = await self._services.previews.measure(topic)
        edit = edit_text(preview.current, preview.topic)
        self._author.say("\n".join([edit, *preview.lines]))
        if await self._author.ask(Confirm("Take this edit?", "Take", "Cancel")):
            await self._services.previews.take(preview)
            await self._edited(describe_changes(preview.current, self._services.state.topic))

    def _elsewhere(self, idea: Idea) -> str:
        """Return the command that takes a step which is no edit."""
        workspace = self._services.workspace
        topic, prompts = workspace.topic_file.path, workspace.prompts_path
        if idea.kind is IdeaKind.LIMITS:
            return "name, description and example N write the definition"
        if idea.kind in (IdeaKind.LABEL, IdeaKind.ADD_PROMPTS):
            return f"add labelled rows to {prompts}, or: guardtui inbox --help"
        if idea.kind is IdeaKind.PUT_BACK:
            connection = self._services.connections.connection
            profile = "NAME" if connection is None else connection.profile
            return command_line(
                "guardtui", "topics", "apply", topic, "--guardrail", f"airs:{profile}"
            )
        command = command_line("guardtui", "refine", topic, "--prompts", prompts)
        option = "guardrail NAME" if idea.kind is IdeaKind.EXPERIMENT else "writer URL#NAME"
        return f"{command} --{option}"

    # --- decisions, scans, reports --------------------------------------------------------

    async def keep(self, _: str) -> None:
        """Record the definition as kept, and save it."""
        await self._services.decisions.keep()
        await self._jobs.finished()
        if self._services.state.scan is not None:  # the author wanted a scan first
            await self._scanned()

    async def discard(self, _: str) -> None:
        """Go back to the best definition."""
        before = self._services.state.topic
        await self._services.decisions.discard()
        if self._services.state.topic != before:
            await self._edited(describe_changes(before, self._services.state.topic))

    async def scan(self, _: str) -> None:
        """Ask the guardrail about every prompt."""
        await self._scan(self._services.scans.scan)

    async def _scan(self, begin: Callable[[], None]) -> None:
        if reason := self._services.guardrails.refusal:
            remedy = "name one at the start: --guardrail NAME, or --sandbox to try"
            raise InputError(f"scan: {reason}\n  {remedy}")
        begin()
        await self._scanned()

    async def _scanned(self) -> None:
        """Wait for the end of a scan, and say what came of it."""
        await self._jobs.finished()
        status = self._services.state.scan
        if status is not None and status.problem:
            # Other problems were messages already.
            stopped = f"{status.who} {status.step}" if status.stopped else ""
            self._author.fail(stopped, Exit.NOT_COMPLETED)
        self._say_figures()

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
        evaluation, reporting = await self._services.preview.current(), self._services.reporting
        if evaluation is None:
            return
        subject = reporting.subjects(evaluation)[0]
        path = await reporting.deliver(
            lambda request: reporting.report(evaluation, request.subject),
            ReportRequest(name, subject, str(Path.cwd() / Path(file).expanduser())),
        )
        if path is not None:
            self._author.say(f"Written: {path}")
            if subject.note:
                warn(subject.note)

    async def help(self, _: str) -> None:
        """List the commands."""
        usages = {f"{word} {one[0]}".strip(): one[1] for word, one in COMMANDS.items()}
        usages["quit"] = "end; edits that are not kept come back"
        width = max(map(len, usages))
        lines = [f"{one:<{width}}  {about}" for one, about in usages.items()]
        self._author.say("\n".join([*lines, ANSWERING]))


def _written(field: str, text: str) -> str:
    """Return the text of a field. Raises InputError for one that cannot be saved."""
    if not text:
        raise InputError(f"{field}: no text\n  write it on the same line: {field} TEXT")
    if problem := unwritable(text, f"{field}: it "):
        raise InputError(problem)
    return text


def _number(text: str, highest: int, what: str, remedy: str) -> int:
    """Return a number from 1 to `highest`. Raises InputError."""
    if text.isdecimal() and len(text) < 9 and 0 < int(text) <= highest:
        return int(text)
    shown = display_start(text, 60)
    raise InputError(f"{what}: '{shown}' is not a number from 1 to {highest}\n  {remedy}")


_COMMANDS: Mapping[IdeaKind, Callable[[PlainCommands, str], Awaitable[None]]] = {
    IdeaKind.KEEP: PlainCommands.keep,
    IdeaKind.DISCARD: PlainCommands.discard,
    IdeaKind.SCAN: PlainCommands.scan,
    IdeaKind.SCAN_MISSING: lambda self, _: self._scan(self._services.scans.scan_missing),
    IdeaKind.CHECK: lambda self, _: self._scan(self._services.scans.check_flips),
    IdeaKind.MISTAKES: lambda self, _: self.mistakes(""),
}
"""The command that takes a step which is no edit."""

_LISTS = f"list prompts ({', '.join(KINDS)}), or the edits that correct a ROW"

COMMANDS: Mapping[str, tuple[str, str, Callable[[PlainCommands, str], Awaitable[None]]]] = {
    "name": ("TEXT", "write the name", PlainCommands.name),
    "description": ("TEXT", "write the description", PlainCommands.description),
    "example": ("N TEXT|#ROW|-", "write, add or remove an example", PlainCommands.example),
    "undo": ("", "undo the last edit", PlainCommands.undo),
    "redo": ("", "redo an undone edit", PlainCommands.redo),
    "show": ("", "the definition, its figures, and what was edited", PlainCommands.show),
    "mistakes": ("[KIND|more|ROW]", _LISTS, PlainCommands.mistakes),
    "next": ("", "the best next steps", PlainCommands.next),
    "take": ("[N|#ROW [N]]", "take one of them, or an edit for a ROW", PlainCommands.take),
    "keep": ("", "record the definition as kept, and save it", PlainCommands.keep),
    "discard": ("", "go back to the best definition", PlainCommands.discard),
    "scan": ("", "ask the guardrail about every prompt", PlainCommands.scan),
    "export": ("FORMAT FILE", "write a report", PlainCommands.export),
    "help": ("", "list the commands", PlainCommands.help),
}
"""Arguments, purpose and method of each command; `quit` ends the loop."""
