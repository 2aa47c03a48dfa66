"""What is wrong with a file is the same when another process tells it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from guardtui.config import ConfigProblem
from guardtui.domain.prompts import Finding, PromptSetError, Severity
from guardtui.files.problems import ContentProblem, FileProblem
from guardtui.files.prompt_edits import PromptsChanged
from guardtui.files.topic_files import ChangedOnDisk, GoneFromDisk

PLAIN = FileProblem(Path("a.csv"), "it is torn", "mend it", 3)


@pytest.mark.parametrize(
    "problem",
    [
        PLAIN,
        FileProblem("a.csv", "it is torn"),
        ContentProblem(Path("a.csv"), "it is torn", line=1),
        ChangedOnDisk(Path("topic.yaml")),
        GoneFromDisk(Path("topic.yaml")),
        PromptsChanged(Path("a.csv"), "it was changed"),
        ConfigProblem([PLAIN, FileProblem("b.toml", "no such setting")]),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_a_problem_arrives_whole(problem: FileProblem) -> None:
    there = pickle.loads(pickle.dumps(problem))
    assert type(there) is type(problem)
    assert str(there) == str(problem)
    told = [str(one) for one in vars(problem).values()]
    assert [str(one) for one in vars(there).values()] == told
    assert vars(there).keys() == vars(problem).keys()
    assert there.can_force == problem.can_force


def test_errors_of_prompts_arrive_whole() -> None:
    findings = [Finding(Severity.ERROR, "empty-prompt", "empty prompt", (n,)) for n in range(30)]
    error = PromptSetError("a.csv", findings, 40)
    there = pickle.loads(pickle.dumps(error))
    assert str(there) == str(error)
    assert (there.source, there.findings, there.total) == ("a.csv", error.findings, 40)
