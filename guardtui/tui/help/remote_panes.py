"""Help texts about scans: AIRS, judges, topics of a profile, scanners side by side."""

from __future__ import annotations

from guardtui.tui.help.pane_help import CLOSE, MOVE, NEXT, PaneHelp

REMOTE_PANES: dict[str, PaneHelp] = {
    "scan": PaneHelp(
        "A scan with AIRS",
        """\
What a scan would do, before anything is sent. For the profile to judge by your definition, the
definition must be in effect: “Apply and scan” gives the topic its new text, pins that revision in
the profile, leaves everything else in the profile as it is, waits until scans know it, and asks for
every prompt. “Without applying” asks by what the profile has now. “Likely changes” asks only for
prompts that the edit moves in the embedded engine, for earlier mistakes, and for those without a
verdict; the others are marked “–” and count in no rate.

Verdicts that are known are not paid for again. While a scan runs, rates are estimates: the brackets
say what the open prompts may still do to them. An edit stops the scan; the verdicts that came are
kept, and the next scan asks for what is missing only.""",
        ("verdict", "coverage", "iteration"),
        (),
        (("Tab, Shift+Tab", "The next button"), ("Enter", "Press it"), ("Esc", "Send nothing")),
    ),
    "flips": PaneHelp(
        "Check the likely flips",
        """\
After an edit a forecast says which verdicts may have changed, and how closely it knows coverage:
the brackets hold the figure in 19 of 20 cases. A check asks for prompts in doubt only, those first
whose verdict narrows the brackets most. The forecast is fitted again as answers come, so order and
end follow what was learnt. It ends as soon as the brackets are as narrow as you say here (± half of
their width), when the calls are made, or when no prompt is in doubt.

For AIRS the definition must be in effect, as for a scan. What comes is recorded as a scan that is
not complete: rates are estimates, and to keep the definition takes the verdicts on all prompts. An
edit stops the check; the verdicts that came are kept.""",
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
The last scan held against the embedded engine, on the definition that was scanned: how often both
say the same, beyond what chance alone would give (kappa: 1 is always, 0 is chance), and who
triggers more. Where the engine is too strict or too lax, a threshold fitted to AIRS's verdicts
brings its previews nearer; the cross-validated figure is the one to trust. Scores of previews
before and after that are the same, their verdicts are not: a comparison across the two says so.""",
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
A profile holds several topics, and stops a prompt when any of those to block matches it, unless one
to allow matches as well. Name the files of the other topics here, or a profile file that lists
them, and the prompt set measures them all together: a prompt that only another topic stops shows
its name after an arrow. A file that cannot be used is marked, says why, and is left out. What you
change counts once you leave.""",
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
            MOVE,
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
        (("t", "Take it over"), MOVE, NEXT, CLOSE),
    ),
    "remote_delete": PaneHelp(
        "A topic that profiles have",
        """\
AIRS deletes such a topic only when it may take it out of every revision of every profile that names
it, and when it is told who does that. Verdicts of those profiles change at once.""",
        ("topic",),
        (),
        (("Enter", "Delete the topic, with the address that was typed"), NEXT, CLOSE),
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

f shows the engine's blind spot: prompts that it alone gets wrong, since another scanner confirms
the label, or nobody else was asked and the prompt is in another language than the definition. Their
labels are not in doubt.

Accepting turns the label in the prompt file, and can be taken back. Rejecting says that the label
is right: the session remembers it, and does not list the prompt again.""",
        ("expected", "verdict", "iteration"),
        (),
        (
            ("a", "Accept: turn the label of this prompt, or of those marked"),
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
What scans ask besides the embedded engine: a security profile of AIRS, a judge (a language model
that is asked about each prompt), or nothing. Flags, environment variables and the files of airs-cli
are filled in, and stand beside each line as its origin. Several models have blanks between them.

A key that is typed here is masked. It stays in memory until you quit, unless you have it kept in
the keyring of the system; that needs the extra 'keyring' of guardtui and a keyring that encrypts.
It is never written to a file, a report, a picture or the history. What was chosen, without keys and
without addresses that may hold one, is filled in again when this topic is opened the next time.

Check asks about one harmless prompt (a judge about two), which is not recorded. Using a guardrail
shows what is known of it at once: its recorded verdicts, or forecasts from them.""",
        keys=(
            NEXT,
            ("Enter, Space", "On the first line: another kind of guardrail"),
            ("^k", "Check it"),
            ("^s", "Use it from now on"),
            CLOSE,
        ),
    ),
}
