"""Help texts of the dialogs that open another topic."""

from __future__ import annotations

from guardtui.tui.help.pane_help import CLOSE, MOVE, NEXT, PaneHelp

_LEAVES = """\
The topic that is open now is left as when you quit: unsaved edits stay as a draft and come back
when you open it again. A scan under way is asked about."""

TOPIC_PANES: dict[str, PaneHelp] = {
    "open_topic": PaneHelp(
        "Open another topic",
        f"""\
The path of a topic file, absolute or from the folder in which guardtui was started. Its prompts are
those that were used with it last, else the file of its name beside it; where there is none, you are
asked for one. Problems of a file are shown here, and the open topic stays.

{_LEAVES}""",
        keys=(("→", "Accept the completion"), ("Enter", "Open the topic"), CLOSE),
    ),
    "new_topic": PaneHelp(
        "A new topic",
        f"""\
Writes a topic file and the first rows of its prompts, named after the topic, like 'guardtui new'.
Nothing that exists is written over. The rows only start the set: your examples as prompts of the
topic, and three everyday requests. More examples can be added in the definition.

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
guardtui was started. Coverage is that of the last recorded iteration, with what it was measured by.

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
