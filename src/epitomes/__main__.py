"""`python -m epitomes` is the command `epitomes`."""

import sys

from epitomes.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
