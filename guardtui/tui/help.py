"""The prose of the help: what each pane shows, what one does there, and the words it uses."""

from __future__ import annotations

from dataclasses import dataclass

from textual.dom import DOMNode
from textual.screen import ModalScreen

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
"""Terms of the filter language and what they let through."""

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
    "precision": "of the prompts that triggered, the share that should",
    "F1": "one figure from precision and TPR; accuracy: the share of right verdicts",
    "iteration": "an evaluation that was recorded, as kept or discarded",
    "baseline": "the iteration that others are compared to: the last kept one, or a pinned one",
    "regression": "right in the baseline and wrong now",
    "fix": "wrong in the baseline and right now",
    "plateau": "five discards in a row: time to try another angle",
    "threshold": "the score from which on a prompt is triggered",
}
"""What the words on the screen mean."""


@dataclass(frozen=True, slots=True)
class PaneHelp:
    """Help of one pane: `scopes` of the registry whose keys work in it, and keys of its own."""

    title: str
    prose: str
    words: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()


_MOVE = ("↑ ↓ PgUp PgDn", "Move or scroll")
_NEXT = ("Tab", "Go to the next place; Shift and Tab: to the one before")
_CLOSE = ("Esc", "Close it; nothing is changed")

PANES: dict[str, PaneHelp] = {
    "definition": PaneHelp(
        "The definition",
        """\
Name, description and two to five examples of your topic, as the guardrail is given them. Beside
each field stand the bytes used and the most allowed: 100 for the name, 250 for the description and
for each example, 1000 together. A letter with an accent takes two bytes, an emoji four. ! marks a
field over its limit, ⚠ below the fields says what to mend. Over a limit the definition is still
evaluated here; only the real guardrail refuses it.

Just type. At each pause the metrics and the results follow. Matching is by similarity and not by
logic: “not about X” attracts X. Say what the topic is, in the words of the prompts it must catch;
an example close to a missed prompt often repairs several.""",
        ("topic", "intent"),
        ("editor",),
        (("Enter, Tab", "Go to the next field"), ("Shift+Tab", "Go to the field before")),
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
        (("Space, Enter, ← →", "Change between block and allow"), _NEXT),
    ),
    "metrics": PaneHelp(
        "The metrics",
        """\
How good the definition is, measured on your prompts. Coverage decides: a topic is as good as its
weaker side. ▲ and ▼ tell the change against the baseline, ─ none; the brackets hold the interval in
which the rate lies with a confidence of 95 %, so a change smaller than that may be chance. Below
them: how many prompts are right and wrong, what the edit broke and fixed, and how likely such a
difference is by chance alone (p).

history draws the coverage of the recorded iterations as bars from 0 to 1; the same numbers stand
at the end of this pane (scroll down), and in the list of iterations. “edit” says what differs from
the baseline, “preview” that this is not recorded. “proxy” is the scanner and its threshold.""",
        ("coverage", "TPR", "TNR", "precision", "F1", "baseline", "regression", "fix", "plateau"),
        (),
        (_MOVE, _NEXT),
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
            ("↑ ↓ PgUp PgDn", "Choose a prompt"),
            ("Home, End", "The first and the last"),
            ("Enter", "Go to the detail of the prompt"),
        ),
    ),
    "filter": PaneHelp(
        "The filter",
        """\
What you type here leaves only prompts that all terms let through, among the group chosen above.
The table follows as you type. Where a term makes no sense, a line under it points at the place, and
the table stays as it was.""",
        ("regression", "fix", "baseline"),
        (),
        (
            ("Enter", "Go to the prompts found; n and N walk through them"),
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

In the prompt itself ▴ stands behind a word that raises the score, ▾ behind one that lowers it; up
to three of them tell how strongly. They are no part of the prompt, are left out when you copy, and
can be hidden. “verdicts” has one sign for each iteration, oldest first: ✓ right, ✗ wrong, ? no
verdict, · not in the prompt set then; ┃ stands where it changed.

Control characters and the like are drawn as visible signs, and counted. Text can be selected with
the mouse and copied with ^c.""",
        ("verdict", "threshold", "iteration", "TP, TN", "FP", "FN"),
        ("detail",),
        (_MOVE, _NEXT),
    ),
    "iterations": PaneHelp(
        "Iterations",
        """\
Every evaluation you kept or discarded, newest first, with its coverage, TPR and TNR and what was
changed: the history of the metrics as a table. ✓ kept, ✗ discarded. Choose one to bring back its
exact definition; Undo returns to what you had. The one pinned as baseline is what everything is
compared to, until it is unpinned.""",
        ("iteration", "baseline", "coverage", "plateau"),
        (),
        (
            ("↑ ↓", "Choose"),
            ("Enter", "Restore the definition"),
            ("p", "Pin as the baseline"),
            _CLOSE,
        ),
    ),
    "export": PaneHelp(
        "Export",
        """\
Writes a report on the definition as it is now, into the folder of the topic file, under the name
shown: md and table are for reading, json and csv for programs, tsv lists the iterations. A file of
that name is written over; your topic and your prompts never are.""",
        ("iteration",),
        (),
        (("↑ ↓", "Choose a format"), ("Enter", "Write it"), _CLOSE),
    ),
    "scan": PaneHelp(
        "A scan with AIRS",
        """\
What a scan would do, before anything is sent. For the profile to judge by your definition, the
definition must be in effect: “Apply and scan” gives the topic its new text, pins that revision in
the profile, leaves everything else in the profile as it is, waits until scans know it, and asks for
every prompt. “As it is” asks by what the profile has now. “Likely changes” asks only for prompts
that the edit moves in the embedded engine, for earlier mistakes, and for those without a verdict;
the others are marked “–” and count in no rate.

Verdicts that are known are not paid for again. While a scan runs, rates are estimates: the brackets
say what the open prompts may still do to them. An edit stops the scan; the verdicts that came are
kept, and the next scan asks for what is missing only.""",
        ("verdict", "coverage", "iteration"),
        (),
        (("Tab, Shift+Tab", "The next button"), ("Enter", "Press it"), ("Esc", "Send nothing")),
    ),
    "remote_topics": PaneHelp(
        "Topics in AIRS",
        """\
All topics of the tenant: name and newest revision, and what the profile pins of each, “older” when
that is not the newest text. → marks the one with the name of yours. Enter shows a text word by word
against yours; from there it can be taken over into the editor, as one edit that Undo takes back.

Apply gives the topic of this name your text, pins it in the profile and waits until scans are
judged by it; what changes is shown first. Take back undoes the last apply of this session: the text
of before, and its pin; what others changed meanwhile stays. Create makes the topic without putting
it into a profile. Delete is for good; a topic that profiles have goes out of all of them, when you
say who does it.""",
        ("topic", "intent"),
        (),
        (
            ("Enter", "Look at the topic"),
            ("p", "Apply your definition"),
            ("r", "Take the last apply back"),
            ("c", "Create the topic, in no profile"),
            ("d, Del", "Delete the topic"),
            ("l", "Load the list again"),
            _MOVE,
            ("Esc, q", "Leave; a change under way is finished"),
        ),
    ),
    "remote_text": PaneHelp(
        "A topic of AIRS against yours",
        """\
Its newest text: {+words+} are only in AIRS, [-words-] only in yours. The service gives no older
text, so where the profile pins an older revision, this is not what it judges by. Taken over, it
takes the place of your definition, with the intent that the profile gives it; Undo brings yours
back.""",
        ("topic", "intent"),
        (),
        (("t", "Take it over"), _MOVE, _NEXT, _CLOSE),
    ),
    "remote_delete": PaneHelp(
        "A topic that profiles have",
        """\
AIRS deletes such a topic only when it may take it out of every revision of every profile that names
it, and when it is told who does that. Verdicts of those profiles change at once.""",
        ("topic",),
        (),
        (("Enter", "Delete the topic, with the address that was typed"), _NEXT, _CLOSE),
    ),
    "agreement": PaneHelp(
        "AIRS and the embedded engine",
        """\
The last scan held against the embedded engine, on the definition that was scanned: how often both
say the same, beyond what chance alone would give (kappa: 1 is always, 0 is chance), and who
triggers more. Where the engine is too strict or too lax, a threshold calibrated on AIRS's verdicts
brings its previews nearer; the figure on verdicts held out is the one to trust. Scores of previews
before and after that are the same, their verdicts are not: a comparison across the two says so.""",
        ("triggered", "threshold", "verdict"),
        (),
        (("u", "Use that threshold"), _MOVE, _CLOSE),
    ),
    "panel": PaneHelp(
        "Scanners side by side",
        """\
What each scanner says of every prompt, on the definition as it is: the embedded engine now, AIRS
and judges as they were recorded last. ✓ triggers, · passes, ? has no verdict; “most” is what more
than half of the verdicts say, – where there is no such half, ! where that contradicts the label.
The lines above tell how well they agree: alpha over all of them and kappa of each two, 1 for
always, 0 for no better than chance.

Where scanners differ, the definition is unclear, or one of them is weak. Where most contradict the
label, look at the label: you can take over what they say, and are asked before that is written.""",
        ("triggered", "verdict", "expected"),
        (),
        (
            ("f", "Next group: those that differ, majority against the label, all"),
            ("/", "Find words in the prompts; Esc takes them away"),
            ("s, S", "Sort by the next column; the other way round"),
            ("Enter", "Read the prompt, and why each scanner said so"),
            ("Space", "Mark the prompt"),
            ("l", "Label the marked prompts, or this one, as the majority says"),
            ("u", "Take the last edit of the prompts back"),
            ("w", "Go on to the labels in doubt"),
            _MOVE,
            ("Esc, q", "Leave"),
        ),
    ),
    "suspects": PaneHelp(
        "Labels in doubt",
        """\
Prompts whose label everything contradicts: every scanner on this definition, and every iteration
that had a verdict on them. At least two voices must have spoken; a scanner counts once for each
definition. Most voices come first, then those that the embedded engine is surest about. Many will
be wrong labels, some hard prompts: read before you decide.

Accepting turns the label in the prompt file, and can be taken back. Rejecting says that the label
is right: the session remembers it, and does not list the prompt again.""",
        ("expected", "verdict", "iteration"),
        (),
        (
            ("a", "Accept: turn the label of this prompt, or of those marked"),
            ("x", "Reject: the label is right; pressed again on one shown by r, it is open"),
            ("r", "Show those rejected too, or hide them"),
            ("u", "Take the last edit of the prompts back"),
            ("Enter", "Read the prompt, and why each scanner said so"),
            ("Space", "Mark the prompt"),
            _MOVE,
            ("Esc, q", "Leave"),
        ),
    ),
    "scanner": PaneHelp(
        "The scanner",
        """\
What answers for the guardrail here. The threshold is the score from which on a prompt is triggered:
a lower one triggers more (TPR rises, TNR falls). Empty means the one it was shipped with.
Calibrated takes the threshold that fits your labels best; the figure on labels held out is the one
to trust. minilm understands better, static is faster; scores of the two cannot be compared.

Tune the definition first: the real guardrail has its own threshold.""",
        ("threshold", "triggered", "coverage"),
        (),
        (("Enter", "Set what was typed, or press the button"), _NEXT, _CLOSE),
    ),
    "confirm": PaneHelp(
        "A question",
        """\
Something would be lost, or may not be what you meant, so it is asked first. Esc always is the
answer that changes nothing.""",
        keys=(("y", "Yes"), ("n, Esc", "No"), _NEXT, ("Enter", "Press the button")),
    ),
    "settings": PaneHelp(
        "Settings",
        """\
How the app looks and behaves. A change holds at once and is written to the settings file; beside
each value stands where it comes from. What the command line or the environment says wins over the
file for as long as it is given. Type to narrow the list.""",
        keys=(
            ("↑ ↓", "Choose a setting"),
            ("Enter", "Change it, or edit its value"),
            ("Space, Del", "In the list: change it, reset it"),
            _NEXT,
            ("Esc", "Leave"),
        ),
    ),
    "columns": PaneHelp(
        "Columns",
        """\
Which columns the results show, how wide, and in which order; x marks those that are shown. Any
column of your prompt set can be among them. What you change is seen at once. On a narrow screen a
column may find no room, and is then left out.""",
        keys=(
            ("↑ ↓, j k", "Choose a column"),
            ("Space", "Show or hide it"),
            ("alt+↑ alt+↓, K J", "Move it"),
            ("+ - 0", "Wider, narrower, its own width"),
            ("r", "All as at first"),
            ("Esc, Enter", "Leave; the columns stay as you see them"),
        ),
    ),
    "prompt": PaneHelp(
        "A new prompt",
        """\
Adds a prompt with its label to your prompt set. The label says whether the prompt belongs to the
topic, whatever the scanner makes of it.""",
        ("expected",),
        (),
        (_NEXT, ("^s or F2", "Add it"), ("Space", "On the label: turn it"), _CLOSE),
    ),
    "views": PaneHelp(
        "Views",
        """\
A view is what you look at in the results, under a name. Save one that you come back to, such as the
regressions of one category. One saved under a name that is taken replaces it; a view is removed at
once, and without a question.""",
        keys=(
            ("↑ ↓", "Choose a view"),
            ("Enter", "Apply it; after typing a name: save"),
            ("Del, d, x", "In the list: remove it"),
            ("Esc", "Leave"),
        ),
    ),
    "theme": PaneHelp(
        "Themes",
        """\
Colours for the whole screen; it changes as you move through the list. Nothing is told by colour
alone: a letter or a sign stands beside it in every theme.""",
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
        keys=(("↑ ↓", "Choose"), ("Enter", "Do it"), _CLOSE),
    ),
    "tour": PaneHelp(
        "The tour",
        """\
Six short steps over the live app. Everything works while it is shown: try what a step says.""",
        keys=(
            ("alt+→ or alt+n", "Next step"),
            ("alt+← or alt+w", "The step before"),
            ("Esc", "Leave the tour"),
        ),
    ),
    "companions": PaneHelp(
        "Topics measured together",
        """\
A profile holds several topics, and stops a prompt when any of those to block matches it, unless one
to allow matches as well. Name the files of the other topics here, and the prompt set measures them
all together: a prompt that only another topic stops shows its name after an arrow. A file that
cannot be used is marked, says why, and is left out. What you change counts once you leave.""",
        ("intent",),
        keys=(
            ("Enter", "In the line: add this file"),
            ("→", "Take what is offered behind the cursor"),
            ("Del, d, x", "In the list: remove the chosen one"),
            _NEXT,
            ("Esc", "Leave, and measure with what is listed"),
        ),
    ),
    "open_outputs": PaneHelp(
        "A file of outputs",
        """\
A file with what a model answered and what it should have: CSV, JSONL or Parquet with the columns
input, target and output. A target may be a list of texts in brackets. What is wrong with a file is
told here, with its lines, before anything opens.""",
        keys=(("→", "Take what is offered behind the cursor"), ("Enter", "Open the file"), _CLOSE),
    ),
    "score_line": PaneHelp(
        "The scorer",
        """\
Write a scorer as in Python, such as match("any") or pattern(r"(\\d+)"); it is only read, never run
as a program. At each pause all rows are scored again. Where the line makes no sense, its fault is
pointed at below, and the scores stay as they are. A scorer that asks a model does so only when you
say it (Enter), shows how far it is, and can be stopped; what was graded is kept.

Pin a scorer to keep its values in sight, and write another one beside it.""",
        (),
        ("scores",),
        (("Enter", "Score now"), ("↑ ↓", "Lines used before"), _NEXT),
    ),
    "score_metrics": PaneHelp(
        "The metrics of the scores",
        """\
A line for each scorer: ▶ the one of the line, ◆ those that are pinned; its metrics with the
standard error behind ±, and how often it gave each value. n/a is what is not defined, as over no
rows. Unscored rows have no value and are in no metric; errors are rows that failed.""",
        (),
        ("scores",),
        (_MOVE, _NEXT),
    ),
    "score_rows": PaneHelp(
        "The scored rows",
        """\
One line for each row of the file: its value by each scorer (C correct, I incorrect, P partly, N no
answer, or a number; n/a without a value, – left out by the scorer, … not scored yet), the answer
that was found in the output, the output and the target. The chosen row stays chosen while you
write, filter and sort.""",
        (),
        ("table", "scores"),
        (("↑ ↓ PgUp PgDn", "Choose a row"), ("Enter", "Go to its detail"), _NEXT),
    ),
    "score_filter": PaneHelp(
        "The filter of the scores",
        """\
All terms must hold. C, I, P or N: the value. value<0.5, value:B: by number or text. scorer:match:
what is said of values is said of this scorer; else any of those shown will do. differ: the scorers
do not agree. error, unscored, declined: rows without a value. category:short is a column of the
file; answer:, explanation:, input:, target:, output: and id: look inside of one text, other words
in input, target and output. A minus turns a term round; quotes hold words together.""",
        (),
        ("scores",),
        (("Enter", "Go to the rows"), ("↑ ↓", "Lines used before")),
    ),
    "score_detail": PaneHelp(
        "The detail of a row",
        """\
The chosen row, whole: its values, the output with ▸ and ◂ around the answer where it stands last,
the target, the input, what each scorer says in explanation, and the other columns of the file.
The signs are no part of the output, and are left out when you copy.""",
        (),
        ("scores",),
        (_MOVE, _NEXT),
    ),
    "score_choice": PaneHelp(
        "A list of the scores",
        "Something to choose for the scores: a scorer, a column, a reducer or a form of report.",
        keys=(("↑ ↓", "Choose"), ("Enter", "Take it"), _CLOSE),
    ),
    "score_page": PaneHelp(
        "Metrics by group",
        """\
The metrics over all rows, then over those of each value of the column, in the order of the file; n
is how many rows that are. Below: what scorers and metrics warned of.""",
        keys=(_MOVE, _CLOSE),
    ),
    "page": PaneHelp(
        "A page to read",
        "Text about the definition or the prompts. It changes nothing, and can be selected.",
        keys=(_MOVE, _CLOSE),
    ),
    "dialog": PaneHelp(
        "A dialog",
        "Answers what it asks, or is closed without changing anything.",
        keys=(_NEXT, ("Enter, Space", "Press what has the focus"), _CLOSE),
    ),
}
"""Help by the name of the pane; `pane_of` says which a widget belongs to."""

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
    "Confirm": "confirm",
    "Iterations": "iterations",
    "ScannerDialog": "scanner",
    "CommandPalette": "palette",
    "ColumnPicker": "columns",
    "NameView": "views",
    "ViewList": "views",
    "AddPrompt": "prompt",
    "SettingsScreen": "settings",
    "ThemeScreen": "theme",
    "Choice": "export",  # the one list that is no class of its own
    "TextPage": "page",
    "ModalScreen": "dialog",
}


def pane_of(node: DOMNode | None) -> str | None:
    """The pane a widget or screen belongs to; None for one that has no help.

    A class or an instance may say it itself by an attribute `help_pane`.
    """
    if node is None:
        return None
    nodes = node.ancestors_with_self
    on_main = not any(isinstance(one, ModalScreen) for one in nodes)
    for one in nodes:
        told = getattr(one, "help_pane", None)
        if isinstance(told, str) and told in PANES:
            return told
        if on_main and one.id in _BY_ID:
            return _BY_ID[one.id]
        for kind in type(one).__mro__:
            if kind.__name__ in _BY_CLASS:
                return _BY_CLASS[kind.__name__]
    return None
