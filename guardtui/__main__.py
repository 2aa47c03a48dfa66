"""`python -m guardtui` is the command `guardtui`."""

import sys

from guardtui.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
