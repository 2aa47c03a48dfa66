"""Edits that correct one mistake, by a judge whose verdicts are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from guardtui.advice.corrections import correctable, corrections
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic

WORDS = ("tax", "income", "refund", "duty", "bread", "soup")
TOPIC = Topic(name="Tax", description="tax", examples=("tax one", "bread one"))


def prompt_set() -> PromptSet:
    rows = [f"{word} {number}" for word in WORDS for number in ("two", "three")]
    labels = ["false" if row.startswith(("bread", "soup")) else "true" for row in rows]
    frame = pl.DataFrame({"prompt": rows, "expected": labels})
    return build_prompt_set(frame, np.arange(2, len(rows) + 2, dtype=np.uint32), "x", Intent.BLOCK)


class SameWord:
    """Judges that a prompt matches if it begins as an example does."""

    def __init__(self) -> None:
        self.prompts = prompt_set()
        self.asked = 0

    def verdicts(
        self, topics: Sequence[Topic], stopped: object = lambda: False
    ) -> np.ndarray | None:
        self.asked += len(topics)
        first = [text.split()[0] for text in self.prompts.prompts]
        return np.array(
            [
                [word in {text.split()[0] for text in topic.examples} for word in first]
                for topic in topics
            ]
        )


def row_of(judge: SameWord, text: str) -> int:
    return judge.prompts.prompts.to_list().index(text)


ALL = range(12)


def test_a_missed_prompt_is_corrected_by_examples_like_it_the_most_useful_first() -> None:
    judge = SameWord()
    known = corrections(judge, TOPIC, row_of(judge, "income two"), ALL, 500)
    assert known is not None
    assert not known.is_right
    best = known.found[0]
    # Swapping the wrong example fixes both prompts on bread and the other one on income.
    assert best.edit.topic.examples[0] == "tax one"
    assert best.edit.topic.examples[1].startswith("income")
    assert best.gain > 0
    assert (best.fixes, best.regressions) == (3, 0)
    assert all("income" in " ".join(one.edit.topic.examples) for one in known.found)
    assert known.tried == judge.asked - 1 > len(known.found)
    gains = [one.gain for one in known.found]
    assert gains == sorted(gains, reverse=True)


def test_a_prompt_that_becomes_an_example_does_not_count_in_the_figures() -> None:
    judge = SameWord()
    row = row_of(judge, "duty two")
    known = corrections(judge, TOPIC, row, ALL, 500)
    assert known is not None
    own = [one for one in known.found if "duty two" in one.edit.topic.examples]
    assert own
    assert {one.after.total for one in own} == {11}
    added = next(one for one in own if len(one.edit.topic.examples) == 3)
    assert (added.fixes, added.regressions) == (1, 0)  # "duty three"


def test_a_wrongly_stopped_prompt_is_corrected_by_dropping_what_it_is_near() -> None:
    judge = SameWord()
    known = corrections(judge, TOPIC, row_of(judge, "bread two"), ALL, 500)
    assert known is not None
    assert known.found
    assert all("bread one" not in one.edit.topic.examples for one in known.found)


def test_where_no_edit_corrects_it_none_is_found() -> None:
    judge = SameWord()
    row = row_of(judge, "tax two")
    topic = TOPIC.model_copy(update={"examples": ("bread one", "soup one")})

    class Stubborn(SameWord):
        def verdicts(
            self, topics: Sequence[Topic], stopped: object = lambda: False
        ) -> np.ndarray | None:
            known = super().verdicts(topics)
            assert known is not None
            known[:, [row, row + 1]] = False
            return known

    known = corrections(Stubborn(), topic, row, [*range(2, 12)], 500)
    assert known is not None
    assert all("tax two" in one.edit.topic.examples for one in known.found)
    assert known.tried > 0


def test_the_mistakes_that_the_best_edit_corrects_come_first() -> None:
    judge = SameWord()
    order = [row_of(judge, "tax two"), *ALL]  # one that is judged rightly does not matter
    rows = correctable(judge, TOPIC, order, 500)
    assert rows is not None
    # The best edits swap the wrong example, and fix both prompts on bread.
    assert {row_of(judge, "bread two"), row_of(judge, "bread three")} <= set(rows[:4])
    assert row_of(judge, "tax two") not in rows
    assert correctable(judge, TOPIC, order, 0) == []


def test_a_judge_that_is_right_is_asked_about_no_edit() -> None:
    judge = SameWord()
    known = corrections(judge, TOPIC, row_of(judge, "tax two"), ALL, 500)
    assert known is not None
    assert known.is_right
    assert known.found == ()
    assert judge.asked == 1
