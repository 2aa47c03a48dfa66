"""Texts of an empty results table: the reason, and the key that helps."""

from __future__ import annotations

from guardtui.domain.figures import count_text
from guardtui.tui.results.model import FILTERS, Results

NOT_YET = "Prompts appear here as soon as they are evaluated."


def empty_text(results: Results) -> str:
    """Return why these results have no rows."""
    view, counts = results.view, results.counts
    group = FILTERS[view.filter]
    if view.search.strip().lower() in ("suspect", "suspects") and view.filter == "all":
        return (
            "No label is in doubt: at least two independent guardrails must contradict it. The "
            "engine is one of them; scan with others to know more."
        )
    if view.search:
        others = "" if view.filter == "all" else ", 7 looks among all prompts"
        return f"Nothing in {group} passes the filter line: Esc takes it away{others}."
    if view.category is not None and counts[view.filter]:
        return f"Nothing in {group} is of this category: Esc shows every category again."
    if view.picked is not None and counts[view.filter]:
        return f"Nothing in {group} is among the prompts picked out: Esc shows the others again."
    if view.filter == "mistakes":
        if counts["open"]:
            left = count_text(counts["open"], "prompt")
            if results.evaluation.is_of_a_part:
                return f"No mistakes so far, {left} still being embedded."
            return f"No mistakes so far, {left} not asked: 9 shows them, 7 shows all."
        if counts["errors"]:
            failed = count_text(counts["errors"], "prompt")
            return f"No mistakes, but {failed} without a verdict: 6 shows them, 7 shows all."
        return "No mistakes: every prompt is judged as its label says. 7 shows all prompts."
    if view.filter in ("regressions", "fixes"):
        if results.comparison is None:
            return "Nothing to compare with yet: the first Keep (F2) makes a baseline."
        if view.filter == "regressions":
            return "No regressions: nothing that was right is wrong now. 7 shows all prompts."
        return "No fixes: nothing that was wrong is right now. 7 shows all prompts."
    if view.filter == "errors":
        subject = "every prompt that was asked" if counts["open"] else "every prompt"
        return f"No errors: {subject} has a verdict. 7 shows all prompts."
    if view.filter == "flaky":
        if results.evaluation.verdicts.repeats is None:
            return "No prompt was scanned more than once: --epochs sets this at the start."
        return "No flaky prompts: every epoch says the same. 7 shows all prompts."
    return f"No {group} here: 7 shows all prompts."
