"""Bar colours of every page."""

from __future__ import annotations

from typing import Any

#: Readable on light and dark, and told apart by most who do not see all colours (Okabe and Ito's set, its
#: black left out).
COLOURS = ("#999999", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#0072b2", "#f0e442")


def marker(place: int) -> dict[str, Any]:
    """Marker of the bars of that place: a colour, and stripes once all colours are taken."""
    again, colour = divmod(place, len(COLOURS))
    return {"color": COLOURS[colour], "pattern": {"shape": ("", "/", "x")[again % 3]}}
