"""List the licences of guardtui and of all it depends on, as installed; fail if one is not allowed.

Usage: python scripts/licences.py [EXTRA …], in an environment with guardtui and these extras.
Needs `packaging`. The licence of a distribution is its licence expression, its classifiers or the
old free field, whichever comes first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ALLOWED = frozenset(
    {
        "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC",
        "MIT", "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib",
    }
)  # fmt: skip
"""SPDX identifiers of licences under which a dependency of an Apache-2.0 program may be."""

CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""SPDX identifiers by the ends of the classifiers."""

FREE_TEXTS = {"3-Clause BSD License": "BSD-3-Clause"}
"""SPDX expressions for what stands in the old free field, where it is none itself."""


def installed(name: str, extras: Iterable[str] = ()) -> dict[str, Distribution]:
    """Return a distribution and all that it depends on here, by canonical names.

    Raises PackageNotFoundError for one that is needed and not installed.
    """
    found: dict[str, Distribution] = {}
    waiting = [(canonicalize_name(name), frozenset(extras))]
    seen = set()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        found[wanted[0]] = distribution(wanted[0])
        for line in found[wanted[0]].requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in wanted[1] | {""}
            ):
                name = canonicalize_name(requirement.name)
                waiting.append((name, frozenset(requirement.extras)))
    return dict(sorted(found.items()))


def licence_of(found: Distribution) -> str:
    """Return the licence of a distribution, an SPDX expression if possible; "" without one."""
    metadata = found.metadata
    if expression := metadata.get("License-Expression", ""):
        return str(expression)
    ends = [
        line.split(" :: ")[-1]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    if ends:
        return " AND ".join(CLASSIFIERS.get(end, end) for end in ends)
    text = metadata.get("License", "").strip()
    return FREE_TEXTS.get(text, text if "\n" not in text else "")


def is_allowed(expression: str) -> bool:
    """Return whether a licence may be used: all parts of an AND, and one part of an OR."""
    text = expression
    while (group := re.search(r"\([^()]*\)", text)) is not None:
        name = "MIT" if is_allowed(group[0][1:-1]) else "not-allowed"
        text = text[: group.start()] + name + text[group.end() :]
    return any(
        all(re.split(r"\s+WITH\s+", part.strip())[0] in ALLOWED for part in either.split(" AND "))
        for either in text.split(" OR ")
    )


def main(extras: list[str]) -> int:
    """Print a line for each distribution; return 1 if a licence is not allowed, else 0."""
    refused = []
    for name, found in installed("guardtui", extras).items():
        licence = licence_of(found)
        print(f"{name:24} {found.version:18} {licence or 'unknown'}")
        if not is_allowed(licence):
            refused.append(name)
    if refused:
        print(f"not allowed or unknown: {', '.join(refused)}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
