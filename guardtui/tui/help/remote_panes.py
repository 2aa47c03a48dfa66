"""Help texts about scans: AIRS, judges, topics of a profile, scanners side by side."""

from __future__ import annotations

from guardtui.tui.help.pane_help import CLOSE, MOVE, NEXT, PaneHelp

REMOTE_PANES: dict[str, PaneHelp] = {
    "scan": PaneHelp(
        "A scan with AIRS",
        """\
The plan of a scan, before anything is sent. The profile judges by your definition only after the
definition is applied: “Apply and scan” updates the text of the topic, pins that revision in the
profile, changes nothing else in the profile, waits until scans use it, and scans every prompt.
“Without applying” scans with the current definition of the profile. “Likely changes” scans only
prompts that the edit moves in the embedded engine, earlier mistakes, and prompts without a verdict;
the others are marked “–” and count in no rate.

Cached verdicts cost nothing. While a scan runs, rates are estimates: the brackets show the possible
effect of the open prompts. An edit stops the scan; verdicts received are kept, and the next scan
requests only the missing ones.""",
        ("verdict", "coverage", "iteration"),
        (),
        (("Tab, Shift+Tab", "The next button"), ("Enter", "Press it"), ("Esc", "Send nothing")),
    ),
    "flips": PaneHelp(
        "Check the likely flips",
        """\
After an edit, a forecast estimates which verdicts have changed, and coverage with an interval: the
brackets contain the figure in 19 of 20 cases. A check scans only prompts in doubt, first those
whose verdict narrows the brackets most. The forecast is fitted again with each answer, which
changes the order. The check ends when the brackets are as narrow as you choose here (± half of
their width), when all calls are made, or when no prompt is in doubt.

With AIRS the definition must be applied, as for a scan. The result is recorded as an incomplete
scan: rates are estimates, and keeping the definition requires the verdicts on all prompts. An edit
stops the check; verdicts received are kept.""",
        ("verdict", "coverage", "iteration"),
        (),
        (
            ("Tab, Shift+Tab", "The next field or button"),
            ("Enter, g", "Check"),
            ("Esc", "Send nothing"),
        ),
    ),
    "agreement": PaneHelp(
        "AIRS and the embedded engine",
        """\
The last scan compared with the embedded engine, on the scanned definition: how often they agree
beyond chance (kappa: 1 is always, 0 is chance), and which one triggers more often. If the engine is
too strict or too lax, a threshold fitted to AIRS's verdicts improves its previews; trust the
cross-validated figure. A threshold taken from here stays, whatever is edited.""",
        ("triggered", "threshold", "verdict"),
        (),
        (
            ("u", "Use that threshold"),
            ("d", "Show the prompts on which they differ in the results table"),
            MOVE,
            CLOSE,
        ),
    ),
    "companions": PaneHelp(
        "Topics measured together",
        """\
A profile has several topics. It stops a prompt that matches a block topic, unless an allow topic
matches too. Name the files of the other topics here, or a profile file that lists them, and all are
measured together: the name of another topic that alone stops a prompt is shown after an arrow. An
unusable file is marked with the reason and not used. Changes apply when you close the dialog.""",
        ("intent",),
        keys=(
            ("Enter", "In the line: add this file"),
            ("→", "Accept the completion"),
            ("Del, d, x", "In the list: remove the chosen one"),
            NEXT,
            ("Esc", "Close, and measure with the listed topics"),
        ),
    ),
    "remote_topics": PaneHelp(
        "Topics in AIRS",
        """\
All topics of the tenant: name and newest revision, and what the profile pins of each, “older” when
that is not the newest text. → marks the one with the name of yours. Enter shows a text word by word
against yours; from there it can be taken over into the editor, as one edit that can be undone.

Apply updates the topic of this name with your text, pins it in the profile and waits until scans
use it; the changes are shown first. Take back reverts the last apply of this session: the text and
its pin are as before, and changes by others stay. Create makes the topic without adding it to a
profile. Delete cannot be undone; a topic that profiles use is removed from all of them, if you give
your address.""",
        ("topic", "intent"),
        (),
        (
            ("Enter", "Look at the topic"),
            ("p", "Apply your definition"),
            ("r", "Take the last apply back"),
            ("c", "Create the topic, in no profile"),
            ("d, Del", "Delete the topic"),
            ("l", "Load the list again"),
            MOVE,
            ("Esc, q", "Leave; a change under way is finished"),
        ),
    ),
    "remote_text": PaneHelp(
        "A topic of AIRS against yours",
        """\
Its newest text: {+words+} are only in AIRS, [-words-] only in yours. The service does not return
older texts, so if the profile pins an older revision, it judges by another text. Taking it over
replaces your definition, with the intent in the profile; Undo restores yours.""",
        ("topic", "intent"),
        (),
        (("t", "Take it over"), MOVE, NEXT, CLOSE),
    ),
    "remote_delete": PaneHelp(
        "A topic that profiles have",
        """\
AIRS deletes such a topic only together with its entries in every revision of every profile, and
requires the address of the person who does it. Verdicts of those profiles change at once.""",
        ("topic",),
        (),
        (("Enter", "Delete the topic, with the address that was typed"), NEXT, CLOSE),
    ),
    "panel": PaneHelp(
        "Scanners side by side",
        """\
The verdict of each scanner on every prompt, for the current definition: the embedded engine now,
AIRS and judges by their last recorded scans. ✓ triggers, · passes, ? has no verdict; “most” is the
verdict of more than half, – without a majority, ! if the majority contradicts the label. The lines
above show the agreement: alpha over all scanners and kappa of each two, 1 for always, 0 for chance.

Where scanners differ, the definition is unclear, or one of them is weak. Where most contradict the
label, check the label: you can change it to their verdict, after a question.""",
        ("triggered", "verdict", "expected"),
        (),
        (
            ("f", "Next group: those that differ, majority against the label, all"),
            ("/", "Find words in the prompts; Esc clears them"),
            ("s, S", "Sort by the next column; reverse the order"),
            ("Enter", "Read the prompt, and why each scanner said so"),
            ("Space", "Mark the prompt"),
            ("l", "Label the marked prompts, or this one, as the majority says"),
            ("u", "Take the last edit of the prompts back"),
            ("w", "Go on to the labels in doubt"),
            MOVE,
            ("Esc, q", "Close it"),
        ),
    ),
    "suspects": PaneHelp(
        "Labels in doubt",
        """\
Prompts whose label at least two independent scanners contradict, and more than confirm it, each
by its newest answer. Independent are the embedded engine (all its encoders and iterations are one,
and the sandbox judges with it), AIRS, and judges that share no model; a panel of models is one.
Some will be wrong labels, some hard prompts: read before you decide.

f shows the engine's blind spot: prompts that it alone gets wrong, because another scanner confirms
the label, or because no other scanner has a verdict and the prompt is in another language than the
definition. Their labels are not in doubt.

Accepting flips the label in the prompt file, and can be undone. Rejecting confirms the label: the
session remembers it, and does not list the prompt again.""",
        ("expected", "verdict", "iteration"),
        (),
        (
            ("a", "Accept: flip the label of this prompt, or of those marked"),
            ("x", "Reject: the label is right; pressed again on one shown by r, it is open"),
            ("r", "Show those rejected too, or hide them"),
            ("f", "The engine's blind spot, or the labels in doubt again"),
            ("u", "Take the last edit of the prompts back"),
            ("Enter", "Read the prompt, and why each scanner said so"),
            ("Space", "Mark the prompt"),
            MOVE,
            ("Esc, q", "Close it"),
        ),
    ),
    "guardrail": PaneHelp(
        "The guardrail",
        """\
The guardrail of scans: a security profile of AIRS, judges (language models that judge each prompt),
a decision model, or the engine alone. The list has those that have a name, with the file and line
that they come from: `guardrails.yaml` beside the topic, or the settings. The form shows the values
of the one under the cursor; empty ones are those of variables and of the files of airs-cli, or the
defaults. A guardrail with a name is written to its file when you use it, one without a name is for
this topic only. Separate several models by blanks.

A key typed here is masked. It stays in memory until you quit, or is stored in the keyring of the
system if you choose that; it requires the extra 'keyring' of guardtui and a keyring that encrypts.
It is never written to a file, a report, a picture or the history. The choice, without keys and
without addresses that may contain one, is filled in again when this topic is opened the next time.

Check scans one harmless prompt (with a judge two), which is not recorded. Using a guardrail shows
its recorded verdicts at once, or forecasts from them.""",
        keys=(
            NEXT,
            ("Enter", "In the list: use this guardrail"),
            ("^k", "Check it"),
            ("^s", "Use it from now on"),
            CLOSE,
        ),
    ),
}
