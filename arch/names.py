"""Messages for misspelt names, in one wording for every list of known things."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return a sentence that says `name` is no `kind`, guesses what was meant, and lists the known names."""
    names = list(known)
    lower = {known.lower(): known for known in names}
    near = [lower[close] for close in difflib.get_close_matches(name.lower(), lower, n=2)]
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"Unknown {kind} {name!r}.{guess} Known: {', '.join(names)}."
