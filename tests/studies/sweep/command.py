"""`warpbank sweep ...` as a process of its own: `python -m tests.studies.sweep.command FILE.toml ...`."""

from __future__ import annotations

import sys

from warpbank.cli.app import main

if __name__ == "__main__":
    sys.argv = ["warpbank", "sweep", *sys.argv[1:]]
    main()
