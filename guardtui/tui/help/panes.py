"""Help texts: what each pane shows, its keys, and its terms."""

from __future__ import annotations

from textual.dom import DOMNode
from textual.screen import ModalScreen

from guardtui.tui.help.advice_panes import ADVICE_PANES
from guardtui.tui.help.pane_help import CLOSE, MOVE, NEXT, PaneHelp
from guardtui.tui.help.remote_panes import REMOTE_PANES
from guardtui.tui.help.topic_panes import TOPIC_PANES

FILTER_EXAMPLES = (
    ("tax home", "prompts that hold both words, in any case"),
    ('"home office"', "these words, as they stand"),
    ("fn, fp, tp, tn", "by outcome; also error, mistake, right, regression, fix, added, all"),
    ("-regression", "all but those; a minus turns any term round"),
    ("category:short,story", "by a column of the prompt set; commas mean or"),
    ("score>0.4 score<=0.6", "by score; also line, and match: 0 the description, 2 example 2"),
    ("was:fn expected:true", "by the outcome in the baseline, and by the label"),
    ("stopped:weapons, open", "by a topic that stopped it; rows that wait to be scanned"),
)
"""Terms of the filter language, and what they match."""

INTRODUCTION = """\
You edit a topic; every pause in typing evaluates it against your labelled prompts. Keep an edit
that is better, discard one that is not.

The embedded scanner is a proxy: it works by semantic similarity, offline. It is weak where intent
decides and not subject (a hint at harm, or a plea for protection from it), and in languages other
than English: there the real guardrail or a judge must decide."""

WORDS = {
    "topic": "the definition: name, description, examples, intent",
    "intent": "block: what matches is stopped; allow: what does not match is stopped",
    "expected": "the label of a prompt: does it belong to the topic",
    "triggered": "the scanner's answer: the guardrail fires on this prompt",
    "verdict": "triggered, not triggered, or none (an error), with its score",
    "TP, TN": "right: triggered and should; not triggered and should not",
    "FP": "false positive: triggered and should not",
    "FN": "false negative: not triggered and should",
    "TPR": "of the prompts that should trigger, the share that does",
    "TNR": "of the prompts that should not trigger, the share that does not",
    "coverage": "the smaller of TPR and TNR: the target",
    "separation": "chance that a prompt of the topic scores above another one (area under the ROC "
    "curve): the same at every threshold",
    "cv": "cross-validated: each prompt judged by a threshold that its label had no part in",
    "precision": "of the prompts that triggered, the share that should",
    "F1": "one figure from precision and TPR; accuracy: the share of right verdicts",
    "iteration": "an evaluation that was recorded, as kept or discarded",
    "baseline": "the iteration that others are compared to: the last kept one, or a pinned one",
    "regression": "right in the baseline and wrong now",
    "fix": "wrong in the baseline and right now",
    "plateau": "five discards in a row: time to try another angle",
    "threshold": "the score from which on a prompt is triggered",
}
"""Meaning of the terms on the screen."""


PANES: dict[str, PaneHelp] = {
    "definition": PaneHelp(
        "The definition",
        """\
Name, description and two to five examples of your topic, as the guardrail is given them. Beside
each field stand the bytes used: at most 100 for the name, 250 for the description and for each
example, 1000 together. A letter with an accent takes two bytes, an emoji four. “12 over” says by
how much a text is too long, ⚠ below the fields what to fix. Over a limit the definition is still
evaluated here; only the real guardrail refuses it.

Just type. At each pause the metrics and the results follow. Matching is by similarity and not by
logic: “not about X” attracts X. Say what the topic is, in the words of the prompts it must catch;
an example close to a missed prompt often repairs several.""",
        ("topic", "intent"),
        ("editor",),
        (
            ("Enter, Tab", "Go to the next field"),
            ("Shift+Tab", "Go to the field before"),
            ("Home", "Start of the line, however many rows it has"),
            ("End", "End of the line"),
            ("Ctrl+Home, Ctrl+End", "Start and end of the text"),
            ("^a", "Select the whole text"),
            ("^u", "Delete to the start of the line"),
            ("^k", "Delete to the end of the line"),
            ("^w", "Delete the word before"),
        ),
    ),
    "intent": PaneHelp(
        "The intent",
        """\
What happens to a prompt that matches the topic. block: it is stopped, as for a topic the assistant
must not touch. allow: it passes, and everything else is stopped. The labels of the prompt set were
made for one of the two: when both differ, the header says so, and what counts as a mistake turns
round.""",
        ("intent", "expected"),
        ("editor",),
        (("Space, Enter, ← →", "Change between block and allow"), NEXT),
    ),
    "metrics": PaneHelp(
        "The metrics",
        """\
How good the definition is, measured on your prompts. Coverage decides: a topic is as good as its
weaker side. ▲ and ▼ show the change against the baseline, ─ none. The brackets show the 95 %
confidence interval of a rate: a smaller change may be chance. Below them: the numbers of right and
wrong prompts, what the edit broke and fixed, and whether that may be chance.

With ten labels of each class the threshold is fitted to them, for each definition anew: cv is then
the coverage to trust. Separation does not depend on the threshold: use it to compare edits if the
threshold of the real guardrail is unknown.

history shows the coverage of the recorded iterations as bars, with the lowest and the highest
value; every figure is in the history. “edit” is the difference to the baseline, “preview” means not
recorded. “proxy” is the scanner. With fewer than ten prompts of a class a rate is unreliable: it is
not bold, and a line says so.""",
        (
            "coverage",
            "separation",
            "cv",
            "TPR",
            "TNR",
            "precision",
            "F1",
            "baseline",
            "regression",
            "fix",
            "plateau",
            "threshold",
        ),
        (),
        (MOVE, NEXT),
    ),
    "beside": PaneHelp(
        "History and categories",
        """\
Shown beside the results on a screen of 160 columns or more. History has every recorded iteration,
newest first: ★ is the best, ◆ the baseline. Categories has the rates and mistakes of each category;
Enter shows only that category in the results, Esc there shows the others again. Both are updated
with every change. F4 opens the whole history, to compare and restore.""",
        ("iteration", "baseline", "TPR", "TNR"),
        (),
        (MOVE, ("Enter", "In the categories: show that category only"), NEXT),
    ),
    "results": PaneHelp(
        "The results",
        """\
One line for each prompt. At the left what the edit did to it: ✗R a regression, ✓F a fix; then the
outcome, the prompt, its score, the part of the definition it is nearest to (desc, or ex and the
number) and its outcome in the baseline. Regressions come first. The line above counts each group;
its number shows it.

Start with the mistakes. Choose one and read in the detail below why it was judged so. When the
definition misses a prompt that stands for many, take it as an example. The chosen prompt stays
chosen while you type, filter and sort.""",
        ("FP", "FN", "TP, TN", "regression", "fix", "verdict"),
        ("table", "results"),
        (
            ("↑ ↓ j k PgUp PgDn", "Choose a prompt"),
            ("Home, End", "The first and the last"),
            ("Enter", "Go to the detail of the prompt"),
        ),
    ),
    "filter": PaneHelp(
        "The filter",
        """\
The table shows the prompts of the chosen group that match all terms, and is updated as you type. A
line under an invalid term points at the error, and the table does not change.""",
        ("regression", "fix", "baseline"),
        (),
        (
            ("Enter", "Go to the prompts found"),
            ("Esc", "Leave the filter and show the whole group again"),
            ("↑ ↓", "Lines used before"),
        ),
    ),
    "detail": PaneHelp(
        "The detail",
        """\
The chosen prompt, whole. First its line in the file, its outcome (✓ right, ✗ wrong, ? no verdict),
its label and its score beside the threshold; then the part of the definition it is nearest to, and
the words that drove the score with what each adds (+) or takes (-).

In the prompt, ▴ after a word means that it raises the score, ▾ that it lowers it; one to three of
them show how strongly. They are not part of the prompt, are not copied, and can be hidden.
“verdicts” has a sign for each iteration, oldest first: ✓ right, ✗ wrong, ? no verdict, · not in the
prompt set at that time; ┃ marks a change.

Control characters and the like are shown as visible signs, and counted. Text can be selected with
the mouse and copied with ^c.""",
        ("verdict", "threshold", "iteration", "TP, TN", "FP", "FN"),
        ("detail",),
        (MOVE, NEXT),
    ),
    "export": PaneHelp(
        "Export",
        """\
Writes a report on the definition as it is, or on an earlier iteration (← →), in the format chosen.
It is compared with the pinned baseline, or with the iteration kept before. The proposed name is not
in use; an existing file is overwritten only after a question, your topic and prompts never. Without
a path in the name, the report is written to the folder of the topic file. x is the switch of a
format that has one: csv for Excel, junit in which only regressions fail.

The full path of the report is shown. o opens it with the program of your desktop; without one, as
over SSH, the path is copied. In a browser the report is downloaded. The last line makes a
screenshot of the screen behind.""",
        ("iteration", "baseline"),
        (),
        (
            ("↑ ↓", "Choose a format"),
            ("← →", "An iteration before or after"),
            ("Enter", "Write it"),
            ("Tab", "Go to the name and back"),
            ("o", "Open what was written"),
            ("y", "Copy its path"),
            CLOSE,
        ),
    ),
    "scanner": PaneHelp(
        "The scanner",
        """\
What answers for the guardrail here. The threshold is the score from which on a prompt is triggered:
a lower one triggers more (TPR rises, TNR falls). Empty means the one it was shipped with. Fitted
takes the one with the largest coverage on your labels; trust the cross-validated figure. minilm
reads English, pair 16 languages, static is fastest; scores of one cannot be compared with those of
another.

Tune the definition first: the real guardrail has its own threshold.""",
        ("threshold", "triggered", "coverage"),
        (),
        (("Enter", "Set what was typed, or press the button"), NEXT, CLOSE),
    ),
    "confirm": PaneHelp(
        "A question",
        """\
Something would be lost, or may not be what you meant. Esc always changes nothing.""",
        keys=(("y", "Yes"), ("n, Esc", "No"), NEXT, ("Enter", "Press the button")),
    ),
    "settings": PaneHelp(
        "Settings",
        """\
Look and behaviour of the app. A change applies at once and is written to the settings file. The
origin of each value is shown beside it. Flags and environment variables override the file. Type to
narrow the list.""",
        keys=(
            ("↑ ↓ PgUp PgDn Home End", "Choose a setting"),
            ("Enter", "Change it, or edit its value"),
            ("Space, Del", "In the list: change it, reset it"),
            NEXT,
            ("Esc", "Close it"),
        ),
    ),
    "prompt": PaneHelp(
        "A prompt",
        """\
Adds a prompt to your prompt set, or edits one: its text, its label and its further columns. The
label says whether the prompt belongs to the topic, regardless of the scanner's verdict. A new text
makes it a new prompt: recorded verdicts of the old text no longer count. u in the results undoes
it.""",
        ("expected",),
        (),
        (
            NEXT,
            ("Ctrl+Home, Ctrl+End", "Start and end of the text"),
            ("^s or F2", "Save it"),
            ("Space", "On the label: turn it"),
            CLOSE,
        ),
    ),
    "theme": PaneHelp(
        "Themes",
        """\
Colours for the whole screen; it changes as you move through the list. Nothing is shown by colour
alone: every theme also uses letters or signs.""",
        keys=(
            ("↑ ↓", "Try a theme"),
            ("Enter", "Keep it, in the settings"),
            ("Esc", "Go back to the one before"),
        ),
    ),
    "palette": PaneHelp(
        "The command palette",
        """\
Every action under its name. Type part of the name, choose with the arrows.""",
        keys=(("↑ ↓", "Choose"), ("Enter", "Do it"), CLOSE),
    ),
    "menu": PaneHelp(
        "The menu",
        """\
The next keys with their actions. A letter runs an action, or opens the menu named after it. An
action that is not available now is dim, and shows the reason when it is chosen. All other keys keep
working.""",
        keys=(
            ("↑ ↓", "Scroll"),
            ("Backspace", "Back to the menu before"),
            ("Esc", "Close it"),
        ),
    ),
    "tour": PaneHelp(
        "The tour",
        """\
Six short steps over the live app. Everything works while it is shown: try what a step says.""",
        keys=(
            ("alt+→ or alt+n", "Next step"),
            ("alt+← or alt+w", "Previous step"),
            ("Esc", "Close the tour"),
        ),
    ),
    "check": PaneHelp(
        "Check of the data",
        """\
First errors and doubts: texts over a limit, duplicates, contradictory labels, test prompts among
the examples, a small class, negatives that are all far from the topic; with the lines of the prompt
file. Then near-duplicates, which count twice in every rate; ! marks a pair with contradictory
labels, of which one is wrong. Then where to label next: many prompts on which the engine is
uncertain and few of which have one of the labels. Labels of similar prompts, from your logs, would
help most. The score is uncertainty × density × scarcity, from 0 to 1.

Below, the rates and mistakes of each category, by the verdicts of the metrics: look at the prompts
of a category that is much worse than the others.

Enter shows only these prompts in the results table; Esc there shows the others again.""",
        ("TPR", "TNR", "FN", "FP"),
        (),
        (
            ("↑ ↓, j k", "Choose a finding or a category"),
            ("Enter", "Show its prompts in the results table"),
            ("Tab", "To the categories, and back"),
            CLOSE,
        ),
    ),
    "messages": PaneHelp(
        "Recent messages",
        "Messages of the line at the top since the app was opened, newest first.",
        keys=(MOVE, CLOSE),
    ),
    "one_prompt": PaneHelp(
        "One prompt",
        "The prompt in full, with each scanner's verdict and its reason.",
        ("verdict", "expected"),
        keys=(MOVE, CLOSE),
    ),
    "page": PaneHelp(
        "A page to read",
        "Text about the definition or the prompts. It changes nothing; its text can be selected.",
        keys=(MOVE, CLOSE),
    ),
    "choice": PaneHelp(
        "A list",
        "Choose one, or leave it as it is.",
        keys=(("↑ ↓", "Choose"), ("Enter", "Take it"), CLOSE),
    ),
    "dialog": PaneHelp(
        "A dialog",
        "Answer its question, or close it without changing anything.",
        keys=(NEXT, ("Enter, Space", "Press what has the focus"), CLOSE),
    ),
    **REMOTE_PANES,
    **TOPIC_PANES,
    **ADVICE_PANES,
}
"""Help by the name of the pane; `pane_of` returns the pane of a widget."""

OVERVIEW = ("definition", "intent", "metrics", "results", "filter", "detail")
"""Panes of the main screen, in the order of the full list."""

_BY_ID = {
    "intent": "intent",
    "editor": "definition",
    "metrics": "metrics",
    "search": "filter",
    "filters": "filter",
    "results": "results",
    "detail": "detail",
    "tour": "tour",
}

_BY_CLASS = {
    "ConfirmDialog": "confirm",
    "ScannerDialog": "scanner",
    "CommandPalette": "palette",
    "PromptDialog": "prompt",
    "SettingsScreen": "settings",
    "ThemeScreen": "theme",
    "ChoiceDialog": "choice",
    "TextPage": "page",
    "ModalScreen": "dialog",
}


def pane_of(node: DOMNode | None) -> str | None:
    """Return the pane of a widget or screen; None if it has no help.

    A class or an instance can name it with an attribute `help_pane`.
    """
    if node is None:
        return None
    nodes = node.ancestors_with_self
    on_main = not any(isinstance(ancestor, ModalScreen) for ancestor in nodes)
    for ancestor in nodes:
        named = getattr(ancestor, "help_pane", None)
        if isinstance(named, str) and named in PANES:
            return named
        if on_main and ancestor.id in _BY_ID:
            return _BY_ID[ancestor.id]
        for kind in type(ancestor).__mro__:
            if kind.__name__ in _BY_CLASS:
                return _BY_CLASS[kind.__name__]
    return None
