"""Help texts about advice: proposals, effects, curves, history."""

from __future__ import annotations

from guardtui.tui.help.pane_help import CLOSE, MOVE, NEXT, PaneHelp

ADVICE_PANES: dict[str, PaneHelp] = {
    "lint": PaneHelp(
        "Advice on the definition",
        """\
Known weaknesses of definitions, most useful first: wording that excludes (matching has no logic:
prompts on what is named match), a description over 100 bytes, examples that are nearly equal, that
are also test prompts, that are nearer to the negatives or that their label contradicts, a
description with less effect than the examples, mixed languages. ⚠ marks a definition on which all
prompts trigger or none, by the scanner of the rates. The figure after "without" is the change of
coverage without this cause alone, measured by the embedded engine on your labelled prompts: ▲ means
better without it. For test prompts that are examples it is coverage without these prompts. n/a
means not measured. If coverage falls without the cause, keep it.""",
        ("coverage", "fix", "regression"),
        (),
        (MOVE, CLOSE),
    ),
    "proposals": PaneHelp(
        "What to change next",
        """\
Edits of the examples, each measured by the embedded engine, or by the forecast while one is shown:
a prompt added as an example, an example swapped or dropped. The description stays as you wrote it.
The figure is the gain of coverage expected on other prompts, with an 80 % interval, then ✓ fixes
and ✗ regressions on yours. Only edits whose interval is above 0 are listed, the
greatest lower bound first. A fitted threshold is fitted again for each definition, so that an edit
which only moves all scores gains nothing. Prompts that become examples are left out of the figures.
Taking an edit can be undone like any other edit.""",
        ("coverage", "fix", "regression"),
        (),
        (
            ("↑ ↓", "Choose an edit"),
            ("Enter", "Take it into the editor"),
            ("r", "The prompts that would change"),
            CLOSE,
        ),
    ),
    "changed_prompts": PaneHelp(
        "Prompts that would change",
        """\
The effect of a proposed edit on your prompts: those that are right now and would be wrong, those
that it would fix, and those left out of its figures because it uses their words.
Once the edit is taken, regressions and fixes are groups of the results table.""",
        ("regression", "fix"),
        (),
        (MOVE, CLOSE),
    ),
    "forecast_trust": PaneHelp(
        "How right forecasts were",
        """\
Each recorded scan of the guardrail is compared with the forecast made from the scans before it:
forecast and actual coverage, whether the actual one is within the interval, whether the direction
of the change was right, and the number of wrong verdicts. Below, for each forecast probability, the
share of prompts that triggered. Nothing is sent to the guardrail.""",
        ("coverage", "verdict", "iteration"),
        (),
        (MOVE, CLOSE),
    ),
    "comparison": PaneHelp(
        "Two iterations compared",
        """\
The rates of both with the change and its 95 % interval, whether the difference could be chance, the
edit between them word by word, and the prompts that were broken and fixed. To see these in the
results table, pin the earlier iteration as the baseline and restore the later one.""",
        ("regression", "fix", "baseline"),
        (),
        (MOVE, CLOSE),
    ),
    "next_steps": PaneHelp(
        "Next steps",
        """\
At most five steps, best first: take a measured edit, check the likely flips of a
guardrail that has answered, add prompts if there are too few, label more prompts if every gain may
be chance. Each edit shows its expected gain of coverage on other prompts, with an 80 % interval;
only edits whose interval is above 0 are offered. “Nothing measured helps” is a valid result. Edits
are measured again after each pause in typing.

If a writer or a judge is named, it can write wordings, in one call and only on your request. It
sees at most half of the mistakes. Its wordings are measured like other edits, without the prompts
that it saw, and added to the list if their interval is above 0.""",
        ("coverage",),
        (),
        (("↑ ↓", "Choose a step"), ("Enter", "Take it"), CLOSE),
    ),
    "effects": PaneHelp(
        "What each part of the definition does",
        """\
The definition is measured without each example, each phrase and the description: ▲ means better
without it, ▼ worse. "chance?" means that the 95 % interval of the change contains 0. Enter removes
the part, as an edit that can be undone.""",
        ("coverage", "fix", "regression"),
        (),
        (("↑ ↓", "Choose a part"), ("Enter", "Leave it out"), CLOSE),
    ),
    "search": PaneHelp(
        "The search for a better definition",
        """\
Several edits in a row, within the limits of bytes. An edit is proposed if the gain of coverage
expected on other prompts has a positive lower bound; often none has. You decide which one to
apply.""",
        ("coverage",),
        (),
        (("Esc", "End the search and show the best result"),),
    ),
    "own_wordings": PaneHelp(
        "Your own wordings",
        """\
Descriptions to try on the decision model, one a line; empty lines and lines with # are skipped.
The definition and wordings from a search are tried too.

A writer is a language model, named as URL#name, that writes further wordings in one call. A judge
can be the writer. Its key comes from the environment or the keyring, or is typed here, masked; a
typed key stays in memory unless you store it. Clear the line for no writer.

Nothing is sent yet. You confirm before the writer is sent the definition and prompts that it gets
wrong, and again before the requests to the decision model; each time, tokens and cost are shown. An
answer of the writer is cached and used again while nothing changes.""",
        (),
        (),
        (
            NEXT,
            ("^s", "Continue"),
            ("Esc", "Cancel"),
        ),
    ),
    "writing": PaneHelp(
        "Asking for wordings",
        """\
The writer was sent the definition and prompts that it gets wrong. Its answer is foreign text:
wordings with control characters or over the limits, and other invalid ones, are refused, with the
reason. If it fails, the other wordings are tried without it.""",
        (),
        (),
        (("Esc", "Continue without its wordings"),),
    ),
    "wording_plan": PaneHelp(
        "Wordings to try",
        """\
Every wording to try, with its origin: a line that you typed, a language model, or the search. Below
the list is the difference of the highlighted wording from the definition. Requests, tokens and cost
are those of the decision model for all wordings. ⚠ shows why the writer's wordings are missing.""",
        (),
        (),
        (
            ("↑ ↓", "Choose a wording to read"),
            ("Enter or y", "Try all of them"),
            ("Esc or n", "Cancel, nothing is sent"),
        ),
    ),
    "wording_run": PaneHelp(
        "Trying wordings",
        """\
The decision model judges every prompt by every wording, many of them in each request. Answers are
cached at once: after a cancel, the next run requests only the others.""",
        (),
        (),
        (("Esc", "Cancel; answers stay cached"),),
    ),
    "wordings": PaneHelp(
        "Better wordings",
        """\
Wordings of the definition, measured on the decision model. They are chosen on two thirds of the
prompts, each at the threshold fitted to it there. The figure is the gain of coverage on the other
third, with an interval corrected for the number of compared wordings. Only wordings whose lower
bound is above 0 are listed; often there are none.""",
        ("coverage", "fix", "regression"),
        (),
        (("↑ ↓", "Choose a wording"), ("Enter", "Take it into the editor"), CLOSE),
    ),
    "history": PaneHelp(
        "History",
        """\
Every iteration of this topic: a column of the chart for each, oldest first, as high as its
coverage, with the sign of its decision below (✓ kept, ✗ discarded, ? undecided); ▲ points at the
highlighted one. The axis shows the range of the values. The list has the same as numbers, newest
first, with the local time and the edit; ★ is the best, ◆ the baseline. The highlighted iteration is
shown in full below. An edit is the difference to the previous iteration; "from #2: …" means that
the definition was edited from #2 instead, which is nearest to it.

Enter shows a definition word by word; r restores it, there and in the list: it becomes the current
definition, Undo restores your version, and later iterations stay. The pinned baseline is what
everything is compared to until it is unpinned. Two marked iterations are compared by their
verdicts, prompt by prompt.

Entries such as "#3+1" are definitions measured at a pause in typing, after #3: they are undecided,
and have rates (≈ those of a forecast) and a definition, but no verdicts. The session keeps the last
twenty. f shows only kept, discarded or undecided entries.""",
        ("coverage", "regression", "fix", "baseline"),
        (),
        (
            ("↑ ↓", "Choose an iteration"),
            ("Enter", "Its definition, word by word"),
            ("r", "Restore its definition"),
            ("m or Space", "Mark it, for a comparison"),
            ("c", "Compare the two marked, or the marked with the highlighted one"),
            ("p", "Pin it as the baseline"),
            ("f", "Only kept, discarded or undecided ones, then all"),
            CLOSE,
        ),
    ),
    "sweep": PaneHelp(
        "The threshold",
        """\
TPR and TNR at every threshold, from the scores of all prompts: with intent block, fewer prompts
trigger at a higher threshold. Coverage is the lower of the two, so it is best where they meet.
While you move, the rates and the table behind are those of the threshold shown. ROC shows the false
positives that a TPR costs; precision-recall, the share of triggered prompts that should trigger.
A table has the numbers.

Best has the largest coverage over every distinct score (of equal ones the larger TPR + TNR, then
the lowest) within your floors. It was chosen by the labels it is measured on, which flatters it:
the cross-validated coverage is that on prompts that had no part in the choice, in ten folds or as
many as the smaller class has prompts. Brackets are 95 % intervals.

The threshold is that of the embedded engine only; a remote guardrail has its own.""",
        ("coverage", "threshold"),
        (),
        (
            ("← →", "To the next threshold that gives other verdicts"),
            ("↑ ↓ PgUp PgDn", "A wide step"),
            ("b", "To the best threshold"),
            ("f", "The least TPR and TNR that the best one must have: 0.9 0.8"),
            ("1 2 3, Tab", "TPR and TNR, ROC, precision-recall"),
            ("t", "Chart or table"),
            ("Enter", "Keep this threshold"),
            ("Esc", "Put the old one back"),
        ),
    ),
}
