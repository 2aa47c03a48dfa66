"""What asking a decision model costs, and whether a sweep of wordings finds the best one.

The sandbox in another process answers on loopback. `rate`: answers a second of a scan against
ideal, at 200 ms and 8 in flight. `requests`: how many a sweep of 60 wordings on 200 prompts takes.
`kills`: such a sweep is killed with SIGKILL three times; how many questions came twice. `planted`:
100 sets of 200 prompts, labelled by one of 60 wordings with one label in twenty turned round; how
often that wording is proposed. `nothing`: the same labelled by the definition at hand; how often
anything is proposed, which can only be worse.

    python benchmarks/decisions.py [rate|requests|kills|planted|nothing …]
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from guardtui.advice.candidates import Candidate, CandidateKind, candidates
from guardtui.advice.model_objective import CHOSEN_ON, ERROR, sweep_wordings
from guardtui.advice.objective import Material
from guardtui.advice.splits import split_prompts
from guardtui.app.advice.wordings import CURRENT, questions_about
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.http.secret import Secret
from guardtui.scanners.base import Progress, VerdictCache
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions, ScoredQuestion
from guardtui.scanners.models.scanner import ModelScanner
from guardtui.session.caches import SqliteVerdicts

SAMPLES = ("tax-advice", "airline-service", "harm-intent")
CONCURRENCY, LATENCY = 8, 0.2
WORDINGS, PROMPTS = 60, 200
MOST_REQUESTS = 210
FIRST_SEED, SEEDS, FOUND = 1000, 100, 95
PLANTED = "planted"
TURNED = 0.05
TURNS = 3


@contextlib.contextmanager
def sandbox(*options: str) -> Iterator[str]:
    """Run a sandbox while the context lasts; yields its URL."""
    command = [sys.executable, "-m", "guardtui", "sandbox", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().partition("'")[2].rstrip("'\n")  # export NAME='URL'
    finally:
        process.terminate()
        process.wait()


def stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/_sandbox/stats") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def scanner(url: str, cache: VerdictCache | None = None) -> ModelScanner[ScoredQuestion]:
    address = ModelAddress(f"{url}/v1", "decide-1", Secret("sandbox-key", "benchmark"))
    return DecisionOptions(address, calls=CallOptions(concurrency=CONCURRENCY)).scanner(cache)


def silent(progress: Progress) -> None:
    """Report to nobody."""


def pool() -> list[str]:
    """The prompts of all samples."""
    found: dict[str, None] = {}
    for name in SAMPLES:
        prompts = load_prompts(ROOT / "sample_data" / f"{name}.csv")
        found.update(dict.fromkeys(prompts.prompts.to_list()))
    return list(found)


def labelled(texts: list[str], labels: list[bool]) -> PromptSet:
    frame = pl.DataFrame(
        {"prompt": texts, "expected": ["true" if one else "false" for one in labels]}
    )
    lines = np.arange(2, len(texts) + 2, dtype=np.uint32)
    return build_prompt_set(frame, lines, "benchmark", Intent.BLOCK)


def wordings_of(name: str, texts: list[str]) -> list[Candidate]:
    """A weak definition, the one of the sample, and edits of the weak one."""
    whole = load_topic(ROOT / "sample_data" / f"{name}.yaml").topic
    weak = Topic(
        name=whole.name,
        description=f"Things about {whole.name.lower()}",
        examples=("Can you help me?", "I have a question"),
        intent=Intent.BLOCK,
    )
    best = whole.model_copy(update={"intent": Intent.BLOCK})
    material = Material(tuple(texts[::7]), tuple(texts[1::7]))
    edits = candidates(weak, material, 2000)
    step = len(edits) / (WORDINGS - 2)
    spread = [edits[int(place * step)] for place in range(WORDINGS - 2)]
    others = [replace(one, origin="search") for one in spread]
    return [
        Candidate(weak, CandidateKind.COMPLETE, "", origin=CURRENT),
        *others[:29],
        Candidate(best, CandidateKind.TYPED, "planted", origin=PLANTED),
        *others[29:],
    ]


# --- the parts ------------------------------------------------------------------------------


def rate() -> int:
    """Print answers a second against ideal; 1 when the aim is missed."""
    topic = load_topic(ROOT / "sample_data" / "tax-advice.yaml").topic
    prompts = load_prompts(ROOT / "sample_data" / "tax-advice.csv")
    rates = []
    with sandbox("--latency", f"{LATENCY * 1000:.0f}ms") as url:
        for _ in range(TURNS):
            start = time.perf_counter()
            verdicts = asyncio.run(scanner(url).scan(topic, prompts, silent))
            rates.append(len(prompts) / (time.perf_counter() - start))
            assert not verdicts.errors
    ideal = CONCURRENCY / LATENCY
    ratio = statistics.median(rates) / ideal
    print(
        f"{LATENCY * 1000:.0f} ms, {CONCURRENCY} at once: {ratio:.3f} of ideal {ideal:.0f}/s "
        f"(aim 0.9){'  MISSED' if ratio < 0.9 else ''}; turns "
        + ", ".join(f"{each:.1f}/s" for each in rates)
    )
    return int(ratio < 0.9)


def requests() -> int:
    """Print what a sweep takes; 1 when it takes too many requests."""
    texts = pool()
    wordings = wordings_of("tax-advice", texts)
    prompts = labelled(texts[:PROMPTS], [bool(place % 2) for place in range(PROMPTS)])
    with sandbox("--latency", f"{LATENCY * 1000:.0f}ms") as url:
        start = time.perf_counter()
        asking = questions_about(scanner(url), wordings, prompts, 200)
        answers = asyncio.run(asking.run(silent))
        seconds = time.perf_counter() - start
        sent = stats(url)["requests"]
    assert not answers.missing
    tokens = answers.used.input_tokens
    print(
        f"{len(wordings)} wordings × {len(prompts)} prompts: {sent} requests "
        f"(aim {MOST_REQUESTS}), {sent / len(wordings):.1f} a wording, {tokens:,} tokens, "
        f"{seconds:.1f} s at "
        f"{LATENCY * 1000:.0f} ms{'  MISSED' if sent > MOST_REQUESTS else ''}"
    )
    return int(sent > MOST_REQUESTS)


def _sweep(url: str, folder: Path) -> None:
    """One sweep with the cache on disk, as the process that is killed does it."""
    texts = pool()
    prompts = labelled(texts[:PROMPTS], [bool(place % 2) for place in range(PROMPTS)])
    with contextlib.closing(SqliteVerdicts(folder)) as cache:
        wordings = wordings_of("tax-advice", texts)
        asking = questions_about(scanner(url, cache), wordings, prompts, 200)
        assert not asyncio.run(asking.run(silent)).missing


def kills() -> int:
    """Kill a sweep three times and take it up again; 1 when too many questions came twice."""
    with sandbox("--latency", "50ms") as url, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--sweep", url, folder]
        for share in (0.2, 0.5, 0.8):
            process = subprocess.Popen(command)
            while stats(url)["requests"] < share * PROMPTS:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        subprocess.run(command, check=True)
        asked = stats(url)["prompts"]["asked"]
        subprocess.run(command, check=True)
        assert stats(url)["prompts"]["asked"] == asked, "what was complete was asked again"
    most = 3 * CONCURRENCY * WORDINGS
    print(
        f"{WORDINGS} wordings × {PROMPTS} prompts, 3 × kill -9: {asked['distinct']:,} questions, "
        f"{asked['duplicates']} twice (at most {most}: those under way at a kill)"
    )
    return int(asked["duplicates"] > most)


def proposed(labelled_by: str) -> tuple[Counter[str], int]:
    """Count what is proposed where one wording has made the labels; and the requests it took."""
    texts = pool()
    found: Counter[str] = Counter()
    with (
        sandbox() as url,
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(SqliteVerdicts(Path(folder))) as cache,
    ):
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
            wordings = wordings_of(SAMPLES[seed % len(SAMPLES)], texts)
            row = next(row for row, one in enumerate(wordings) if one.origin == labelled_by)
            random = np.random.default_rng(seed)
            some = [texts[place] for place in random.choice(len(texts), PROMPTS, replace=False)]
            draft = labelled(some, [bool(place % 2) for place in range(PROMPTS)])
            asked = scanner(url, cache)
            answers = asyncio.run(questions_about(asked, wordings, draft, 200).run(silent))
            assert not answers.missing
            right = answers.probabilities[row] >= np.median(answers.probabilities[row])
            labels = right ^ (random.random(PROMPTS) < TURNED)
            prompts = labelled(some, labels.tolist())
            split = split_prompts(prompts, CHOSEN_ON)
            result = sweep_wordings(wordings, answers.probabilities, prompts, split, asked.settings)
            best = result.best
            found["nothing" if best is None else best.origin] += 1
        return found, stats(url)["requests"]


def planted() -> int:
    """Print how often the planted wording is proposed; 1 when the aim is missed."""
    found, sent = proposed(PLANTED)
    count = found[PLANTED]
    others = SEEDS - count - found["nothing"]
    print(
        f"planted best of {WORDINGS} wordings, {PROMPTS} prompts, {TURNED:.0%} of the labels "
        f"turned round: proposed in {count} of {SEEDS} (aim {FOUND}), another in {others}, "
        f"nothing in {found['nothing']}; {sent} requests in all"
        f"{'  MISSED' if count < FOUND else ''}"
    )
    return int(count < FOUND)


def nothing() -> int:
    """Print how often a worse wording is proposed; 1 when that is more often than it may be."""
    found, _ = proposed(CURRENT)
    count = SEEDS - found["nothing"]
    most = round(ERROR * SEEDS)
    print(
        f"no better one of {WORDINGS} wordings: something proposed in {count} of {SEEDS} "
        f"(at most {most}){'  MISSED' if count > most else ''}"
    )
    return int(count > most)


def main() -> int:
    if sys.argv[1:2] == ["--sweep"]:
        _sweep(sys.argv[2], Path(sys.argv[3]))
        return 0
    parts = {
        "rate": rate,
        "requests": requests,
        "kills": kills,
        "planted": planted,
        "nothing": nothing,
    }
    if os.name == "nt":
        del parts["kills"]
    return int(sum(parts[name]() for name in sys.argv[1:] or parts) > 0)


if __name__ == "__main__":
    sys.exit(main())
