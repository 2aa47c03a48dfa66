"""Help texts of the dialogs that open another topic."""

from __future__ import annotations

from guardtui.tui.help.pane_help import CLOSE, MOVE, NEXT, PaneHelp

_LEAVES = """\
The open topic is closed as on quitting: unsaved edits stay as a draft and are restored when you
open it again. If a scan is running, a question comes first."""

TOPIC_PANES: dict[str, PaneHelp] = {
    "open_topic": PaneHelp(
        "Open another topic",
        f"""\
The path of a topic file, absolute or from the folder in which guardtui was started. Its prompts are
those used with it last, or else the file of the same name beside it; if there is none, enter one.
Problems of a file are shown here, and the open topic stays.

{_LEAVES}""",
        keys=(("→", "Accept the completion"), ("Enter", "Open the topic"), CLOSE),
    ),
    "new_topic": PaneHelp(
        "A new topic",
        f"""\
Writes a topic file and the first rows of its prompts, named after the topic, like 'guardtui new'.
No existing file is overwritten. The rows only start the set: two requests with the topic's name,
and three everyday ones.

With a file of labelled prompts only that is needed. The topic is called like the file, has its
intent, and two or three of its most central prompts as examples, unless you write others. Prompts
that are examples would always match: they are taken out of the file, which is backed up first.

{_LEAVES}""",
        keys=(
            NEXT,
            ("Enter", "Go on to the next line; block or allow: change it"),
            ("^s", "Write the files and open the topic"),
            CLOSE,
        ),
    ),
    "recent_topics": PaneHelp(
        "Recent topics",
        f"""\
The last twenty topics that were opened, the newest first, then those of the folder in which
guardtui was started. Coverage is that of the last recorded iteration, with the scanner that
measured it.

{_LEAVES}""",
        keys=(
            MOVE,
            ("Enter", "Open the topic"),
            ("Del", "Drop it from the list; its files stay"),
            ("o", "Open one by its path"),
            ("n", "Make a new one"),
            CLOSE,
        ),
    ),
}
