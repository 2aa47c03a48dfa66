"""Help texts about advice: proposals, effects, curves, clusters, history."""

from __future__ import annotations

from guardtui.tui.help.pane_help import CLOSE, MOVE, NEXT, PaneHelp

ADVICE_PANES: dict[str, PaneHelp] = {
    "advice": PaneHelp(
        "Advice",
        """\
Everything that helps to decide what to change next, and how sure a difference is. Each line has a
letter; all of them stand in the command palette too.""",
        (),
        ("advice",),
        (("↑ ↓", "Choose one"), ("Enter", "Open it"), CLOSE),
    ),
    "lint": PaneHelp(
        "Advice on the definition",
        """\
What is known to go wrong with definitions, most useful first: wording that excludes (matching has
no logic: what is named attracts), a description over 100 bytes, examples that are nearly equal,
that are test prompts too, that are nearer to the negatives or that their label contradicts, a
description that carries less than the examples, mixed languages. ⚠ stands where a definition tells
nothing apart: all trigger or none, by whatever scanner the rates are of. Behind "without" stands
what coverage does when the cause alone is removed, measured by the embedded engine on your labelled
prompts: ▲ means better without it. Of test prompts that are examples it is coverage without them.
n/a: it could not be measured. A rule is no law: where coverage falls without it, leave it.""",
        ("coverage", "fix", "regression"),
        (),
        (MOVE, CLOSE),
    ),
    "proposals": PaneHelp(
        "What to change next",
        """\
Edits of the definition, each measured by the embedded engine, or by the forecast while one is
shown: a prompt taken as an example, an example swapped or dropped, a description widened or cut
after a clause. The figure is the gain of coverage that is expected on other prompts, with an 80 %
interval, then ✓ fixes and ✗ regressions on yours. Only edits whose interval lies above 0 are
listed, the greatest lower bound first. A fitted threshold is fitted to each definition again, so
that an edit which only moves all scores gains nothing. Prompts that become examples are left out
of the figures. Taking one is an edit like any other, and can be undone.""",
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
What an edit that is only proposed would do to your prompts: those that are right now and would be
wrong, those that it would repair, and those left out of its figures since it took words of them.
Once the edit is taken, regressions and fixes are groups of the results table.""",
        ("regression", "fix"),
        (),
        (MOVE, CLOSE),
    ),
    "forecast_trust": PaneHelp(
        "How right forecasts were",
        """\
Each recorded scan of the guardrail held against the forecast that the scans before it would have
given: the coverage that was forecast, what came, whether that lay within the interval, whether the
change had the direction that was forecast, and how many single verdicts were wrong. Below, how
often prompts triggered that were forecast to trigger with about that probability. It changes
nothing, and asks the guardrail nothing.""",
        ("coverage", "verdict", "iteration"),
        (),
        (MOVE, CLOSE),
    ),
    "comparison": PaneHelp(
        "Two iterations compared",
        """\
The rates of both with the change and its 95 % interval, whether the difference could be chance, the
edit from the one to the other word by word, and the prompts that broke and that were repaired. To
have those in the results table, pin the earlier one as the baseline and restore the later one.""",
        ("regression", "fix", "baseline"),
        (),
        (MOVE, CLOSE),
    ),
    "next_steps": PaneHelp(
        "Next steps",
        """\
What to do now, at most five, the best first: fit the threshold, take an edit that is measured
already, check the likely flips of a guardrail that has answered, add prompts where there are too
few, label more of them where no edit can be told from chance. An edit comes with the gain of
coverage that is expected on other prompts and its 80 % interval; one whose interval reaches 0 is
not offered. “Nothing measured helps” is a good answer. The same is measured again after each pause
in typing.

Where a writer or a judge is named, it can be asked for wordings, in one call and only when you say
so. It is shown at most half of the mistakes; its wordings are measured without these, like all
others, and those that help for certain join the list.""",
        ("coverage",),
        (),
        (("↑ ↓", "Choose a step"), ("Enter", "Take it"), CLOSE),
    ),
    "trials": PaneHelp(
        "Trials",
        """\
What you tried: each pause after an edit leaves the definition with its figures, and the guardrail
that they are about. The newest stands first, and the same definition only once; twenty are kept
with the session, also when you quit. ▲ and ▼ compare coverage with that of the definition in the
editor. ≠ stands where nothing is to be compared: prompts or labels have changed since, or another
guardrail or threshold was measured. ● is the definition in the editor. Bringing one back is one
edit, and Undo takes it back.""",
        ("coverage",),
        (),
        (("↑ ↓", "Choose a trial"), ("Enter", "Bring it back into the editor"), CLOSE),
    ),
    "effects": PaneHelp(
        "What each part of the definition does",
        """\
Each example, each phrase and the description is left out, and the definition measured without it:
▲ means better without it, ▼ that it earns its place. "chance?" stands where the 95 % interval of
the change contains 0. Enter leaves the part out, as an edit that can be undone.""",
        ("coverage", "fix", "regression"),
        (),
        (("↑ ↓", "Choose a part"), ("Enter", "Leave it out"), CLOSE),
    ),
    "search": PaneHelp(
        "The search for a better definition",
        """\
Edits on top of edits, under the limits of bytes. What is proposed has a gain of coverage, expected
on other prompts, whose lower bound is positive; often nothing has. You decide what is taken.""",
        ("coverage",),
        (),
        (("Esc", "End the search; the best found is shown"),),
    ),
    "own_wordings": PaneHelp(
        "Your own wordings",
        """\
Descriptions to try on the decision model, one a line; empty lines and lines with # are skipped.
They are tried in addition to the definition and to wordings from a search.

A writer is a language model, named as URL#name, that writes further wordings in one call. A judge
is one. Its key is its own: from the environment, the keyring, or typed here, masked; it stays in
memory unless you have it kept. Clear the line to do without a writer.

Nothing is sent yet. You are asked before the writer gets the definition and prompts that it gets
wrong, and again before the decision model is asked; tokens and cost are shown each time. An answer
of a writer is cached: with nothing changed it is not asked again.""",
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
control characters, texts over the limits and other invalid wordings are refused, with the reason.
If it fails, the others are tried without it.""",
        (),
        (),
        (("Esc", "Go on without its wordings"),),
    ),
    "wording_plan": PaneHelp(
        "Wordings to try",
        """\
Every wording that is to be tried, with its origin: a line that you typed, a language model, or the
search. Below the list stands how the highlighted one differs from the definition. Requests, tokens
and cost are those of the decision model for all of them. ⚠ says why a writer has none or fewer.""",
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
Every wording is asked of the decision model about every prompt, many in each request. Answers are
kept as they come: after a cancel the next run asks for the others only.""",
        (),
        (),
        (("Esc", "Cancel; answers are kept"),),
    ),
    "wordings": PaneHelp(
        "Better wordings",
        """\
Wordings of the definition as the decision model itself answered them. They were chosen on two
thirds of the prompts, each at the threshold fitted to it there. The figure is the gain of coverage
on the third that had no part in the choice, with an interval that allows for all that are
reported on. Only wordings whose lower bound is above 0 are listed; often none is.""",
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
shown in full below. An edit is what changed against the iteration before; "from #2: …" stands where
the definition was edited from #2 instead, which is nearest to it.

Enter shows a definition word by word; r restores it, there and in the list: it becomes the current
definition, Undo restores your version, and later iterations stay. The pinned baseline is what
everything is compared to until it is unpinned. Two marked iterations are compared by their
verdicts, prompt by prompt. Rows marked "imported" come from a results.tsv: they have rates and a
definition, but no verdicts.""",
        ("coverage", "regression", "fix", "baseline"),
        (),
        (
            ("↑ ↓", "Choose an iteration"),
            ("Enter", "Its definition, word by word"),
            ("r", "Restore its definition"),
            ("m or Space", "Mark it, for a comparison"),
            ("c", "Compare the two marked, or the marked with the highlighted one"),
            ("p", "Pin it as the baseline"),
            ("i", "Import a results.tsv; Export on the main screen writes one"),
            CLOSE,
        ),
    ),
    "prompt_set": PaneHelp(
        "The prompt set",
        """\
Prompts that are alike stand in one cluster, by the vectors of the embedded engine. Each has its
error rate with its 95 % interval: a small cluster says little, however bad. ! marks a cluster
without negatives: there nothing tells where your topic ends. Words are those that are frequent here
and rare elsewhere.

Near-duplicates are counted twice in every rate; ! marks two whose labels contradict each other, and
one of them is wrong. Label next names places where the engine hesitates, prompts are many, and few
have one of the labels: prompts like those shown, from your logs, would teach most. The score is
uncertainty × density × scarcity, from 0 to 1.

Enter leaves only these prompts in the results table; Esc there brings the others back.""",
        ("coverage", "FP", "FN", "threshold"),
        (),
        (
            ("↑ ↓ PgUp PgDn", "Choose a line"),
            ("1 2 3, Tab", "Clusters, near-duplicates, where to label next"),
            ("Enter", "Show these prompts in the results table"),
            CLOSE,
        ),
    ),
    "sweep": PaneHelp(
        "The threshold",
        """\
TPR and TNR at every threshold, drawn from the score of every prompt: of a topic that blocks a
higher threshold lets more through. Coverage is the lower of the two, so it is best where they meet.
While you move, the rates and the table behind are those of the threshold you see. ROC shows what
TPR costs in false positives; precision-recall, how many of those that trigger should. Each chart
has a table with the same numbers.

Best is the largest coverage over every distinct score (of equal ones the larger TPR + TNR, then the
lowest), among those that keep your floors. It was chosen by the labels it is measured on, which
flatters it: cross-validated stands what it reaches on prompts that had no part in choosing it, in
ten folds or as many as the smaller class has prompts. Brackets are 95 % intervals.

A threshold is of the embedded engine alone; a remote guardrail has one of its own.""",
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
    "whole_set": PaneHelp(
        "All of the large set",
        """\
The prompts of the screen behind are a sample of a large set; here all of it is evaluated by the
embedded engine. The first time prompts without vectors are embedded, which may take long; from then
on an edit takes a fraction of a second. A run of this very definition and threshold that is there
already is shown at once.

Rates of all stand beside those of the sample, each with its 95 % interval. Where a sample does not
have the shares of the classes, its accuracy, precision and F1 are no estimates for all: "of the
sample" stands there. Below is what changed since the last whole evaluation here, else since the
last finished run in the folder: what broke and what was repaired by class, and whether it may be
chance.

Then the verdicts are written into the folder, where guardtui merge and compare find them, and the
prompts that are wrong or without a verdict are listed. Esc stops at once: shards whose vectors are
done keep them, of a run that is not finished nothing stays.""",
        ("coverage", "FP", "FN", "fix", "regression"),
        (),
        (
            ("1 2, Tab", "Figures, prompts"),
            ("f", "All that are wrong, FP, FN, without a verdict"),
            ("/", "Find words; Esc takes them away"),
            ("s S", "Sort by the next column; turn the order"),
            ("Enter", "Read the whole prompt, and why it was judged so"),
            ("x F8", "Export a report of all"),
            ("Esc", "Stop and leave"),
        ),
    ),
}
