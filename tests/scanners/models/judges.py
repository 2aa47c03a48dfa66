"""Models behind a real socket that judge by a word, and what they were asked."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdict, Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.base import Progress, VerdictCache
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.judge import JudgeOptions, JudgePanel
from guardtui.scanners.models.scanner import ModelScanner
from tests.http.server import Answer, Received, Server, Step, answer
from tests.http.times import JumpClock

TOPIC = Topic(
    name="Tax advice",
    description="Advice on filing personal income tax returns",
    examples=("How do I deduct my home office?", "When is my tax return due?"),
)
MESSAGES = [{"role": "user", "content": "Does it belong?"}]
_FENCE = re.compile(r"<<<prompt (\w+)>>>\n(.*)\n<<<end \1>>>", re.DOTALL)


def fenced_in(text: str) -> str:
    """The prompt between the marks of a message."""
    result = _FENCE.search(text)
    assert result is not None
    return result[2]


def asked(request: Received) -> str:
    """The prompt that a request is about."""
    return fenced_in(request.json["messages"][-1]["content"])


def said(
    text: str | None,
    usage: tuple[int, int] | None = (100, 10),
    finish: str = "stop",
    delay: float = 0.0,
    **message: Any,
) -> Answer:
    """An answer of a model."""
    body: dict[str, Any] = {
        "id": "x",
        "choices": [
            {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return answer(body, delay=delay)


def refused(message: str, status: int = 400, **error: Any) -> Answer:
    return answer({"error": {"message": message, **error}}, status=status)


def truthful(request: Received) -> Step:
    """Yes for what has to do with tax."""
    prompt = asked(request)
    word = "yes" if "tax" in prompt else "no"
    return said(f"It is about {prompt}.\nANSWER: {word}")


def model(script: Callable[[Received], Step] | Step | list[Step] = truthful) -> Server:
    return Server(script)


def prompts_of(server: Server) -> Counter[str]:
    return Counter(asked(request) for request in server.received)


def calls_of(options: dict[str, Any]) -> CallOptions:
    """The options of calls among options, from which they are taken; time jumps."""
    names = {field.name for field in fields(CallOptions)} & options.keys()
    return CallOptions(**{"clock": JumpClock(), **{name: options.pop(name) for name in names}})


def judge(
    *servers: Server, cache: VerdictCache | None = None, fresh: bool = False, **more: Any
) -> ModelScanner[JudgePanel]:
    """A scanner of models named a, b, …, one on each server; time jumps."""
    named = zip(servers, "abcdef", strict=False)
    models = tuple(ModelAddress(f"{server.url}/v1", name) for server, name in named)
    calls = calls_of(more)
    return JudgeOptions(models, calls=calls, **more).scanner(cache, fresh=fresh)


class Memory:
    """A cache for tests."""

    def __init__(self) -> None:
        self.found: dict[bytes, Verdict] = {}

    def find(self, key: bytes) -> Verdict | None:
        return self.found.get(key)

    def keep(self, key: bytes, verdict: Verdict) -> None:
        self.found[key] = verdict


def nothing(progress: Progress) -> None:
    pass


def some(tmp_path: Path, *prompts: str, intent: str = "block") -> PromptSet:
    """A prompt set whose labels are of no importance."""
    path = tmp_path / "some.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent"])
        for at, prompt in enumerate(prompts):
            writer.writerow([prompt, "true" if at % 2 else "false", intent])
    return load_prompts(path)


def verdicts_of(verdicts: Verdicts) -> list[int]:
    return [int(one) for one in verdicts.triggered]
