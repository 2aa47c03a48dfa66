"""`guardtui` and `python -m guardtui`: the command, which Ctrl-C ends without a traceback."""

import sys


def _ended(kind: type, problem: BaseException, traceback: object) -> None:
    """Say nothing of an interrupt before the command itself can."""
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, problem, problem.__traceback__)


sys.excepthook = _ended


def main() -> None:
    """Run the command line and exit with its code."""
    from guardtui.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
