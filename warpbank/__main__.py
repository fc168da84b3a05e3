"""`python -m warpbank`: the command line."""

from warpbank.cli.start import main

if __name__ == "__main__":
    main()
