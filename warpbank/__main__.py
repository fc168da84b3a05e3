"""`python -m warpbank`: the command line."""

from warpbank.sim.cli import main

if __name__ == "__main__":
    main()
