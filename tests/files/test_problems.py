"""What is wrong with a file is the same when another process tells it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from guardtui.config import ConfigError
from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import PromptSetError
from guardtui.files.problems import ContentError, FileError
from guardtui.files.prompt_edits import PromptsChangedError
from guardtui.files.topic_files import ChangedOnDiskError, GoneFromDiskError

PLAIN = FileError(Path("a.csv"), "it is torn", "mend it", 3)


@pytest.mark.parametrize(
    "problem",
    [
        PLAIN,
        FileError("a.csv", "it is torn"),
        ContentError(Path("a.csv"), "it is torn", line=1),
        ChangedOnDiskError(Path("topic.yaml")),
        GoneFromDiskError(Path("topic.yaml")),
        PromptsChangedError(Path("a.csv"), "it was changed"),
        ConfigError([PLAIN, FileError("b.toml", "no such setting")]),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_pickled_problem_keeps_all_fields(problem: FileError) -> None:
    there = pickle.loads(pickle.dumps(problem))
    assert type(there) is type(problem)
    assert str(there) == str(problem)
    fields = [str(one) for one in vars(problem).values()]
    assert [str(one) for one in vars(there).values()] == fields
    assert vars(there).keys() == vars(problem).keys()
    assert there.can_force == problem.can_force


def test_pickled_prompt_errors_keep_all_fields() -> None:
    findings = [Finding(Severity.ERROR, "empty-prompt", "empty prompt", (n,)) for n in range(30)]
    error = PromptSetError("a.csv", findings, 40)
    there = pickle.loads(pickle.dumps(error))
    assert str(there) == str(error)
    assert (there.source, there.findings, there.total) == ("a.csv", error.findings, 40)
