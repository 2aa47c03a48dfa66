"""The prose of the help about advice: proposals, effects, curves, clusters, history."""

from __future__ import annotations

from guardtui.tui.help_pane import CLOSE, PaneHelp

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
    "suggestions": PaneHelp(
        "Proposals of a model",
        """\
The model was told the definition, the rules by which definitions work, and the mistakes on one half
of your prompts. Each proposal is measured by the embedded engine on the other half, which the model
has not seen: its coverage there stands first, then what it fixes and breaks. Below the list stands
what would change, word by word. Taking one is an edit like any other.""",
        ("coverage", "fix", "regression"),
        (),
        (("↑ ↓", "Choose a proposal"), ("Enter", "Take it into the editor"), CLOSE),
    ),
}
