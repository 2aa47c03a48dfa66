"""Run the fast tests with other Pythons, and the lowest or newest allowed dependencies.

python scripts/check_pythons.py                     this Python, newest versions
python scripts/check_pythons.py --versions lowest   this Python, lowest versions
python scripts/check_pythons.py --versions both python3.12 python3.13

Each combination gets an environment of its own, which is deleted afterwards: the package, its
tests and, with the newest versions, its types for Linux, macOS and Windows are checked in there.
What stands after -- goes to pytest in place of the whole fast stage. The exit code is 1 if a
combination failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from lowest_versions import lowest_versions

ROOT = Path(__file__).parent.parent
SYSTEMS = ("linux", "darwin", "win32")
SAMPLE = ("sample_data/tax-advice.yaml", "--prompts", "sample_data/tax-advice.csv")


def steps(versions: str, folder: Path, tests: Sequence[str]) -> list[list[str]]:
    """Return the command lines of a combination, without their Python, in order."""
    install = ["-m", "pip", "install", "--quiet", "-e"]
    if versions == "lowest":
        constraints = folder / "lowest.txt"
        constraints.write_text("\n".join(lowest_versions()), "utf-8")
        install = [*install, ".[test]", "--constraint", str(constraints)]
    else:
        install = [*install, ".[dev]", "--upgrade", "--upgrade-strategy", "eager"]
    lines = [install, ["-m", "pip", "check"], ["-m", "guardtui", "eval", *SAMPLE, "-o", "-"]]
    if versions == "newest":
        lines += [["-m", "mypy", "--platform", system] for system in SYSTEMS]
    return [*lines, ["-m", "pytest", "-n", "auto", *tests]]


def check(python: str, versions: str, tests: Sequence[str]) -> bool:
    """Return whether all steps of a combination passed; their output is shown."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        environment = {**os.environ, "GUARDTUI_CACHE": str(folder / "cache")}
        environment |= {"GUARDTUI_DATA": str(folder / "data"), "PYTHONUTF8": "1"}
        subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        environment["PATH"] = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
        for line in steps(versions, folder, tests):
            print("+", *line, flush=True)
            command = [str(programs / "python"), *line]
            if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
                return False
    return True


def main() -> int:
    """Check each combination, and print which passed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    parser.add_argument("--versions", choices=("newest", "lowest", "both"), default="newest")
    arguments, tests = sys.argv[1:], []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, tests = arguments[:cut], arguments[cut + 1 :]
    given = parser.parse_args(arguments)
    versions = ("newest", "lowest") if given.versions == "both" else (given.versions,)
    results = {
        (python, version): check(python, version, tests)
        for python in given.pythons or [sys.executable]
        for version in versions
    }
    for (python, version), passed in results.items():
        print(f"{'passed' if passed else 'FAILED'}: {python}, {version} versions")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
