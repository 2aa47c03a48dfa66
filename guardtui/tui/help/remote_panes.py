"""Help texts about scans: AIRS, judges, topics of a profile."""

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
    "trust": PaneHelp(
        "How well scans were predicted",
        """\
The last scan compared with the embedded engine, on the scanned definition: how often they agree
beyond chance (kappa: 1 is always, 0 is chance), and which one triggers more often. If the engine is
too strict or too lax, a threshold fitted to the guardrail's verdicts improves its previews; trust
the cross-validated figure. A threshold taken from here stays, whatever is edited.

Below, each recorded scan is compared with the forecast made from the scans before it: forecast and
actual coverage, whether the actual one is within the interval, whether the direction of the change
was right, and the number of wrong verdicts; then, for each forecast probability, the share of
prompts that triggered. Nothing is sent to the guardrail.""",
        ("triggered", "threshold", "coverage", "verdict"),
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
    "remote_text": PaneHelp(
        "A topic of AIRS against yours",
        """\
Its newest text: {+words+} are only in AIRS, [-words-] only in yours. The service does not return
older texts, so if the profile pins an older revision, it judges by another text. Copying it
replaces your definition, with the intent in the profile; Undo restores yours.""",
        ("topic", "intent"),
        (),
        (("t", "Copy it to the editor"), MOVE, NEXT, CLOSE),
    ),
    "guardrail": PaneHelp(
        "The guardrail",
        """\
The guardrail of scans: a security profile of AIRS, a judge (a language model that judges each
prompt), or none. Values of flags, environment variables and the files of airs-cli are filled in,
with their origin beside each line. Separate several models by blanks.

A key typed here is masked. It stays in memory until you quit, or is stored in the keyring of the
system if you choose that; it requires the extra 'keyring' of guardtui and a keyring that encrypts.
It is never written to a file, a report, a picture or the history. The choice, without keys and
without addresses that may contain one, is filled in again when this topic is opened the next time.

Check scans one harmless prompt (with a judge two), which is not recorded. Using a guardrail shows
its recorded verdicts at once, or forecasts from them.""",
        keys=(
            NEXT,
            ("Enter, Space", "On the first line: another kind of guardrail"),
            ("^k", "Check it"),
            ("^s", "Use it from now on"),
            CLOSE,
        ),
    ),
}
