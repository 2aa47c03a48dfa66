"""Texts of the survey: clusters, near-duplicates, and places to label."""

from __future__ import annotations

from rich.text import Text

from guardtui.advice.prompt_set import Cluster, LabelSuggestion, Survey
from guardtui.domain.figures import bracketed, count_text, rate_text
from guardtui.domain.guardrail import remote_name
from guardtui.domain.text import display_start, display_text

PAGES = {"clusters": "Clusters", "duplicates": "Near-duplicates", "next": "Label next"}
"""Titles of the pages."""

WIDE = 90
"""Least cells of a line with labels and longer bars."""

_LONGEST = 400
_PARTS = " ▏▎▍▌▋▊▉█"
_LABELS = {True: "true", False: "false"}
_EIGHTHS = 8


def bar(rate: float | None, width: int) -> str:
    """Return a rate from 0 to 1 as a bar of so many cells, filled up with dots; "?" for None."""
    if rate is None:
        return "?".ljust(width)
    eighths = round(rate * width * _EIGHTHS)
    if rate > 0:
        eighths = max(1, eighths)  # a small rate is not drawn as 0
    full, part = divmod(eighths, _EIGHTHS)
    drawn = "█" * full + (_PARTS[part] if part else "")
    return drawn + "·" * (width - len(drawn))


def pages_line(shown: str, survey: Survey) -> Text:
    """Return the pages with their sizes, the shown one in brackets."""
    sizes = {
        "clusters": len(survey.clusters),
        "duplicates": survey.duplicates.total,
        "next": len(survey.spots),
    }
    line = Text()
    for index, (name, title) in enumerate(PAGES.items(), start=1):
        text = f"{index} {title} {sizes[name]}"
        line.append(f"[{text}]" if name == shown else f" {text} ", "bold" if name == shown else "")
    return line


def page_summary(page: str, survey: Survey) -> str:
    """Return what the page shows."""
    if page == "clusters":
        lacking = [cluster.lacks for cluster in survey.clusters if cluster.lacks]
        scanner = remote_name(survey.evaluation.settings.kind, "the embedded engine")
        return (
            f"Worst error rate first, as {scanner} judges; "
            f"! without negatives: {lacking.count('no negatives')}, "
            f"· without positives: {lacking.count('no positives')}."
        )
    if page == "duplicates":
        duplicates = survey.duplicates
        shown = (
            f"; the first {len(duplicates.pairs)} are listed"
            if duplicates.total > len(duplicates.pairs)
            else ""
        )
        note = ""
        if duplicates.among < len(survey.prompts):
            note = f" Looked for among {duplicates.among} of {len(survey.prompts)} prompts."
        elif not duplicates.exact:
            note = " Of so many prompts some pairs may be missed."
        return (
            f"Cosine {duplicates.near} or more; ! the labels contradict: "
            f"{duplicates.contradicting}{shown}.{note}"
        )
    return (
        "Where the engine hesitates, prompts are many, and labels of one kind are few: "
        "a new prompt like these, labelled, would teach most."
    )


def empty(page: str) -> str:
    """Return the text of an empty page."""
    if page == "duplicates":
        return "No two prompts say nearly the same."
    return "The engine hesitates nowhere: no label would teach much."


def clusters_head(width: int) -> str:
    """Return the titles over `cluster_line`."""
    labels = f"{'true':>6}{'false':>6}   " if width >= WIDE else "   "
    return (
        f"{'error rate':<{_bar_cells(width) + 6}} {'95 %':<13}  {'wrong':>9}{labels}typical words"
    )


def _bar_cells(width: int) -> int:
    return 12 if width >= WIDE else 5


def cluster_line(cluster: Cluster, width: int) -> Text:
    """Return a cluster in one line: its error rate as bar and number, labels, words."""
    line = Text()
    rate = cluster.error_rate
    line.append(bar(rate, _bar_cells(width)), "$text-error" if cluster.mistakes else "$text-muted")
    line.append(f" {rate_text(rate):>5}", "bold")
    line.append(f" {bracketed(cluster.error_interval):<13}  ", "$text-muted")
    line.append(f"{cluster.mistakes:>4}/{cluster.metrics.total:<4}")
    if width >= WIDE:
        line.append(f"{cluster.belong:>6}{cluster.others:>6}")
    # "!": without negatives nothing shows where the topic ends. "·" is common.
    sign = "" if not cluster.lacks else "·" if cluster.others else "!"
    line.append(f" {sign:<2}", "bold $text-warning" if sign == "!" else "$text-muted")
    line.append(f"#{cluster.number} ", "$text-muted")
    line.append(", ".join(display_text(word) for word in cluster.words) or "(no typical words)")
    return line


def cluster_text(cluster: Cluster, survey: Survey) -> Text:
    """Return a cluster in full."""
    text = Text()
    text.append(f"#{cluster.number}: {count_text(cluster.size, 'prompt')}", "bold")
    text.append(f", labels true {cluster.belong}, false {cluster.others}; ")
    counts = cluster.metrics
    text.append(f"TP {counts.tp}  TN {counts.tn}  FP {counts.fp}  FN {counts.fn}")
    if counts.errors:
        text.append(f"  without a verdict {counts.errors}", "$text-warning")
    if counts.open:
        text.append(f"  not asked {counts.open}", "$text-muted")
    text.append("\n")
    for title, (rate, interval) in (
        ("false positives", cluster.false_positive_rate),
        ("false negatives", cluster.false_negative_rate),
    ):
        text.append(f"{title} {rate_text(rate)} {bracketed(interval)}".rstrip() + "  ")
    if not cluster.others:
        text.append("\n! no negatives: nothing tells here where the topic ends", "$text-warning")
    elif not cluster.belong:
        text.append("\n· no positives: what triggers here is false", "$text-muted")
    text.append("\nmost central: ", "$text-muted")
    text.append(_prompt(survey, cluster.central))
    return text


def pair_line(index: int, survey: Survey) -> Text:
    """Return the two prompts of a pair with their labels, in two lines."""
    pair = survey.duplicates.pairs[index]
    line = Text()
    line.append("! " if pair.contradicts else "  ", "bold $text-error")
    line.append(f"{pair.cosine:.3f}  ", "bold")
    for row, before in ((pair.first, ""), (pair.second, "\n" + " " * 9)):
        label = _LABELS[bool(survey.prompts.expected[row])]
        line.append(f"{before}{label:<5}  ", "$text-muted")
        line.append(_prompt(survey, row))
    return line


def spot_line(suggestion: LabelSuggestion, survey: Survey, width: int) -> Text:
    """Return a place to label: its score as bar and number, and its cluster."""
    line = Text()
    line.append(bar(suggestion.score, _bar_cells(width)), "$text-accent")
    line.append(f" {rate_text(suggestion.score)}  ", "bold")
    cluster = survey.cluster(suggestion.cluster)
    name = ", ".join(display_text(word) for word in cluster.words[:3]) or "(no typical words)"
    line.append(f"#{cluster.number} {name}")
    line.append(f"  hesitates on {suggestion.near_threshold} of {cluster.size}", "$text-muted")
    return line


def spot_text(suggestion: LabelSuggestion, survey: Survey) -> Text:
    """Return why more labels help there, and its prompts."""
    text = Text()
    few = _LABELS[suggestion.wanted]
    text.append(f"Few labels here are {few}", "bold")
    text.append(
        f" (by nearness: true {suggestion.belong:.1f}, false {suggestion.others:.1f}). "
        "Find prompts like these in your logs and label them; "
        f"one that is {few} would teach most.\n"
    )
    for row in suggestion.rows:
        label = _LABELS[bool(survey.prompts.expected[row])]
        text.append(f"{label:<5}  ", "$text-muted")
        text.append(f"{_prompt(survey, row)}\n")
    text.right_crop(1)
    return text


def _prompt(survey: Survey, row: int) -> str:
    return display_start(str(survey.prompts.prompts[row]), _LONGEST)
