"""One of several programs that work at random on one session, and what must be true afterwards.

By hand for a minute: `python -m tests.app.concurrency FOLDER live 60`, or `kill` instead of `live`
for SIGKILL at random moments.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from guardtui.app.editing.iteration_decisions import HistoryError, IterationDecisions
from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.session.session import Iteration
from guardtui.session.store import DecidedElsewhereError, SessionStore
from tests.app.headless import Loop
from tests.sessions import AIRS, Scanned, answers

TOPIC = "# mine\nname: Tax\ndescription: {}\nexamples: [tax, a tax]\nintent: block\nowner: me\n"
FIRST = "Tax"
NEVER = 2**63


@dataclass(frozen=True)
class Acknowledged:
    """What a program was told is done: begun and done in ns of one clock for all programs.

    A step is begun when its program looks at the files: what it is told is true at a moment after.
    A step that was begun, and of which nothing is known because the program was killed, is never
    `done`. `description` is that of the iteration; `written` that of the topic file, if it was
    written. A `decision` that was begun without a number may be that of any iteration.
    """

    what: str
    begun: int
    done: int = NEVER
    number: int | None = None
    description: str = ""
    verdicts: int = 0
    decision: str = ""
    written: str = ""
    pinned: int | None = None

    @property
    def is_done(self) -> bool:
        return self.done != NEVER


class Journal:
    """The steps of one program; a line is in the file before the next step."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a")
        self._looked = 0

    def look(self) -> None:
        """Note that the program is about to look at the files, as the begin of its next step."""
        self._looked = time.monotonic_ns()

    def begin(self, what: str, iteration: Iteration | None = None, **values: Any) -> Acknowledged:
        """Write that a step is begun, and what it may change."""
        if iteration is not None:
            values = {"number": iteration.number, "decision": what} | values
        return self._write(Acknowledged(what, self._looked, **values))

    def end(self, step: Acknowledged, iteration: Iteration | None = None, **values: Any) -> None:
        """Write that a step is acknowledged; without an iteration and values, as it was begun."""
        if iteration is not None:
            evaluation = iteration.evaluation
            values = {
                "number": iteration.number,
                "description": evaluation.topic.description,
                "verdicts": evaluation.metrics.total,
                "decision": iteration.decision.value,
            } | values
        self._write(replace(step, done=time.monotonic_ns(), **values))

    def _write(self, entry: Acknowledged) -> Acknowledged:
        self._file.write(json.dumps(asdict(entry)) + "\n")
        self._file.flush()
        return entry


def read(path: Path) -> list[Acknowledged]:
    """Return the steps of a journal; its last line may be cut by kill -9."""
    lines = path.read_text().split("\n")[:-1]
    entries = [Acknowledged(**json.loads(line)) for line in lines]
    return [*{entry.begun: entry for entry in entries}.values()]


def evaluation_of(topic: Topic, prompts: PromptSet, rows: slice, right: float) -> Evaluation:
    """Return a scan of some rows; `right` is the share of the prompts answered as `answers` has."""
    count = len(prompts)
    given = answers(prompts, topic.description)
    given[int(right * count) :] ^= 1
    triggered = np.full(count, Triggered.NOT_ASKED, np.int8)
    triggered[rows] = given[rows]
    verdicts = Verdicts(triggered, np.full(count, np.nan, np.float32), np.full(count, -1, np.int16))
    return Evaluation(topic, AIRS, prompts.fingerprint, prompts.keys, prompts.expected, verdicts)


# --- commands ------------------------------------------------------------------------------------


class Commands:
    """Steps of commands, each on the session as it is."""

    def __init__(self, folder: Path, journal: Journal, seed: str) -> None:
        self._path, self._journal, self._seed = folder / "topic.yaml", journal, seed
        self._files = EvaluatedFiles(self._path, folder / "tax.csv", AS_WRITTEN)
        self._topic = load_topic(self._path).topic
        self._prompts = load_prompts(folder / "tax.csv", self._topic.intent)
        self._chance = random.Random(seed)
        self._count = 0

    def step(self) -> None:
        """Do something at random; a refusal of the rules is no failure."""
        steps = (self._record, self._complete, self._decide, self._restore, self._pin)
        self._journal.look()
        try:
            self._chance.choices(steps, (4, 2, 5, 2, 1))[0]()
        except (HistoryError, DecidedElsewhereError) as problem:
            # The best one, or another program decided or wrote the file meanwhile.
            if "locked" in str(problem) or problem.exit_code != 2:
                raise

    def _record(self) -> None:
        self._count += 1
        rows = slice(None) if self._chance.random() < 0.6 else slice(0, 20)
        topic = self._topic.model_copy(update={"description": f"{self._seed} {self._count}"})
        self._write(topic, rows)

    def _complete(self) -> None:
        partial = [
            one.evaluation.topic
            for one in SessionStore(self._path).iterations()
            if one.evaluation.metrics.missing
        ]
        if partial:
            first = self._chance.randrange(10, 40)
            self._write(self._chance.choice(partial), slice(first, first + 20))

    def _write(self, topic: Topic, rows: slice) -> None:
        evaluation = evaluation_of(topic, self._prompts, rows, 0.8)
        step = self._journal.begin("record")
        iteration, _ = record_evaluation(self._files, evaluation)
        # A completed iteration keeps its decision: that is not a new one.
        known = {"decision": ""} if iteration.completions else {}
        self._journal.end(step, iteration, **known)

    def _decide(self) -> None:
        decisions, iteration = self._chosen()
        if self._chance.random() < 0.5:
            best, text = None, iteration.evaluation.topic.description
        else:
            best = decisions.restored_by_discarding(iteration)
            text = best.evaluation.topic.description
        step = self._journal.begin("keep" if best is None else "discard", iteration, written=text)
        try:
            if best is None:
                decided = decisions.keep(iteration)
            else:
                decided, restored = decisions.discard(iteration)
                text = text if restored else ""
        except (HistoryError, DecidedElsewhereError) as problem:
            match = re.match(r"#(\d+) is (kept|discarded), but", str(problem))
            self._journal.end(step, decision="", written="", number=None)
            if match is None:
                raise
            decided, text = decisions.session.iteration(int(match[1])), ""
        self._journal.end(step, decided, written=text)

    def _restore(self) -> None:
        decisions, iteration = self._chosen()
        step = self._journal.begin("restore", written=iteration.evaluation.topic.description)
        try:
            decisions.restore(iteration)
        except HistoryError:
            self._journal.end(step, written="")
            raise
        self._journal.end(step)

    def _pin(self) -> None:
        decisions, iteration = self._chosen()
        number = iteration.number if self._chance.random() < 0.7 else None
        step = self._journal.begin("pin", pinned=number)
        decisions.pin(number)
        self._journal.end(step)

    def _chosen(self) -> tuple[IterationDecisions, Iteration]:
        decisions = IterationDecisions(self._path)
        number = self._chance.choice(decisions.session.iterations).number
        return decisions, decisions.chosen(number)


# --- the app -------------------------------------------------------------------------------------


class App:
    """Steps of the author of an app that stays open, and agrees to everything."""

    def __init__(self, loop: Loop, journal: Journal, seed: str) -> None:
        self._loop, self._journal, self._seed = loop, journal, seed
        self._chance = random.Random(seed)
        self._count = 0

    async def step(self) -> None:
        """Do something at random; raise for a message that speaks of a lock."""
        services, author = self._loop.services, self._loop.author
        author.answers[:] = [True] * 10
        author.messages.clear()
        self._journal.look()
        await services.decisions.learn()
        await services.sync.look()
        steps = (self._edit, self._keep, self._discard, self._save, self._pin)
        await self._chance.choices(steps, (4, 3, 3, 1, 1))[0]()
        await self._loop.settle()
        if any("locked" in message for message in author.messages):
            raise AssertionError(author.messages)

    async def _edit(self) -> None:
        self._count += 1
        await self._loop.describe(f"{self._seed} {self._count}")

    async def _keep(self) -> None:
        step = self._journal.begin(
            "keep", decision="keep", written=self._loop.state.topic.description
        )
        await self._loop.services.decisions.keep()
        self._decided(step, r"Kept as #(\d+)(?P<saved> and saved)?")

    async def _discard(self) -> None:
        step = self._journal.begin("discard", decision="discard")
        await self._loop.services.decisions.discard()
        self._decided(step, r"Discarded as #(\d+)(?P<saved>never)?")

    def _decided(self, step: Acknowledged, pattern: str) -> None:
        for message in self._loop.author.messages:
            if match := re.match(pattern, message):
                iteration = self._loop.services.session.iteration(int(match[1]))
                written = iteration.evaluation.topic.description if match["saved"] else ""
                self._journal.end(step, iteration, written=written)
                return
        self._journal.end(step, decision="", written="")

    async def _save(self) -> None:
        step = self._journal.begin("save", written=self._loop.state.topic.description)
        await self._loop.services.sync.save()
        saved = any(message.startswith("Saved to") for message in self._loop.author.messages)
        self._journal.end(step, written=step.written if saved else "")

    async def _pin(self) -> None:
        services = self._loop.services
        step = self._journal.begin("pin", pinned=None)
        services.decisions.turn_pin()
        self._journal.end(step, pinned=services.session.pinned)


def work(folder: Path, name: str, until: float, life: float) -> None:
    """Work until a time of the monotonic clock; with a `life`, be killed after so many seconds."""
    journal = Journal(folder / f"{name}.journal")
    if life:
        killing = threading.Timer(life, os.kill, (os.getpid(), signal.SIGKILL))
        killing.daemon = True
        killing.start()
    if not name.startswith("app"):
        commands = Commands(folder, journal, name)
        while time.monotonic() < until:
            commands.step()
        return

    async def author() -> None:
        async with Loop(folder / "topic.yaml") as loop:
            app = App(loop, journal, name)
            while time.monotonic() < until:
                await app.step()

    asyncio.run(author())


# --- what is true afterwards ---------------------------------------------------------------------


def check(folder: Path) -> dict[str, int]:
    """Assert that everything acknowledged is there; return counts of what was."""
    entries = [entry for path in sorted(folder.glob("*.journal")) for entry in read(path)]
    store = SessionStore(folder / "topic.yaml")
    iterations = store.iterations()
    assert [one.number for one in iterations] == list(range(len(iterations)))
    for entry in entries:
        if entry.is_done and entry.number is not None:
            evaluation = iterations[entry.number].evaluation
            assert evaluation.topic.description == entry.description, entry
            assert evaluation.metrics.total >= entry.verdicts, entry
    for iteration in iterations:
        decided = [
            one for one in entries if one.decision and one.number in (iteration.number, None)
        ]
        if any(one.number == iteration.number for one in decided):
            standing = _standing(decided)
            allowed = {one.decision for one in standing}
            assert iteration.decision.value in allowed, (iteration.number, standing)
    if standing := _standing([one for one in entries if one.what == "pin"]):
        assert store.pinned() in {one.pinned for one in standing}
    text = (folder / "topic.yaml").read_text()
    written = load_topic(folder / "topic.yaml").topic.description
    assert text == TOPIC.format(written)
    standing = _standing([one for one in entries if one.written])
    allowed = {one.written for one in standing} or {FIRST}
    assert written in allowed, (written, standing)
    backups = sorted((store.folder / "backups").glob("topic.yaml.*.bak"))
    assert backups or written == FIRST
    for backup in backups:
        content = backup.read_text()
        assert re.fullmatch(re.escape(TOPIC).replace(r"\{\}", "(.+)"), content), backup
    counts = Counter(entry.what for entry in entries if entry.is_done)
    return {
        **counts,
        "iterations": len(iterations),
        "verdicts": sum(one.evaluation.metrics.total for one in iterations),
        "backups": len(backups),
    }


def _standing(entries: Sequence[Acknowledged]) -> list[Acknowledged]:
    """Return those of which no acknowledged one was begun after they were done."""
    latest = max((entry.begun for entry in entries if entry.is_done), default=0)
    return [entry for entry in entries if entry.done >= latest]


def prepare(folder: Path) -> None:
    """Write topic and prompts, and record the first iteration."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "topic.yaml").write_text(TOPIC.format(FIRST))
    scanned = Scanned(folder)
    evaluation = evaluation_of(scanned.topic, scanned.prompts, slice(None), 0.5)
    record_evaluation(
        EvaluatedFiles(scanned.topic_path, folder / "tax.csv", AS_WRITTEN), evaluation
    )


def run_together(folder: Path, seconds: float, *, kills: bool) -> dict[str, int]:
    """Run two commands and an app at once, and check the folder.

    With `kills` each is killed at random moments, and started again.
    """
    prepare(folder)
    until = time.monotonic() + seconds

    def lives(program: str) -> int:
        """Run a program until the end; return how often it was killed."""
        chance, killed = random.Random(program), 0
        while True:
            life = chance.uniform(0.01, 3) if kills else 0.0
            killed += run(folder, f"{program}-{killed}", until, life)
            if not kills or time.monotonic() >= until:
                return killed

    with ThreadPoolExecutor() as pool:
        killed = sum(pool.map(lives, ("first", "second", "app")))
    return check(folder) | {"killed": killed}


def run(folder: Path, name: str, until: float, life: float) -> bool:
    """Run a program to its end; return whether it was killed."""
    words = [sys.executable, "-m", "tests.app.concurrency", str(folder), name, str(until)]
    ended = subprocess.run([*words, str(life)], capture_output=True, text=True)
    killed = ended.returncode == -signal.SIGKILL
    assert ended.returncode == 0 or (killed and life), ended.stderr
    assert "locked" not in ended.stderr
    return killed


if __name__ == "__main__":
    folder, name, until, *life = sys.argv[1:]
    if life:
        work(Path(folder), name, float(until), float(life[0]))
    else:
        counts = run_together(Path(folder), float(until), kills=name == "kill")
        sys.stdout.write(f"{counts}\n")
