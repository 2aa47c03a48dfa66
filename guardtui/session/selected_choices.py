"""Detection of the choices that an output selects, from its `ANSWER: B`."""

from __future__ import annotations

import re

from guardtui.scorer.choices import letter

# Signs around names are taken off first: $B$, **B**, (B). No form backtracks into a run that it has
# read, so that an output of any length is read in linear time.
_NAMES = r"[A-Za-z\d][A-Za-z\d ,]*+"
_WRAPPED = (
    re.compile(rf"\$\s*+({_NAMES})\s*+\$"),
    re.compile(rf"\*\*\s*+({_NAMES})\s*+\*\*"),
)
_BRACKETED = re.compile(r"(^|[:,])(\s*+)\(([A-Za-z\d])\)(?=[^\S\n]*+(?:[,.\n]|\Z))", re.IGNORECASE)

# At the start of a line the names end with their line or a full stop. Elsewhere any other sign ends
# them. Blanks alone are a marker too: one that names nothing.
_OF_A_LINE = re.compile(
    r"^ANSWER\s*+:(?:\s*+([A-Z\d,][A-Z\d ,]*+)\s*(?:$|\n|\.)"
    r"|[^\S ]*+ (?:[^\S\n]*+\n|\s*+(?:\Z|\.)))",
    re.IGNORECASE | re.MULTILINE,
)
_ANYWHERE = re.compile(r"ANSWER\s*+:(?:\s*+([A-Z\d,][A-Z\d ,]*)(?!\w)|\s* (?!\w))", re.IGNORECASE)


def selected_choices(output: str, count: int) -> frozenset[int]:
    """Return the indices of the choices that an output selects; empty if it is not clear.

    The output is read like inspect_ai's `multiple_choice` solver with `multiple_correct` reads it:
    `ANSWER: B`, `ANSWER: A, C`, `ANSWER: AC`, `ANSWER: A and C`, ignoring case; A to Z, then 1, 2,
    …; also as `$B$`, `**B**` or `(B)`. The last marker at the start of a line counts, or the last
    of all if none is. An answer that also names an index outside of the `count` choices selects
    nothing.
    """
    for wrapped in _WRAPPED:
        output = wrapped.sub(lambda match: match[1].rstrip(" "), output)
    output = _BRACKETED.sub(r"\1\2\3", output)
    markers = _OF_A_LINE.findall(output) or _ANYWHERE.findall(output)
    if not markers:
        return frozenset()
    indices = {letter(index): index for index in range(count)}
    names = markers[-1].strip().upper().replace(" AND ", ",").replace(" ", "")
    for tokens in ({name for name in names.split(",") if name}, set(names)):
        if tokens <= indices.keys():
            return frozenset(indices[name] for name in tokens)
    return frozenset()
