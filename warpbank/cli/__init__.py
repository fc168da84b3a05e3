"""Commands of `warpbank`: a file per command that parses, calls and prints."""
