"""Register-file schemes: the unit that stands in each room.

A register file is a collector, a hierarchy, a mapping and a storage, plus a warp scheduler. A scheme is a row
that changes some of these; `a+b` joins rows. A new scheme is one new file per room it changes and one row
here, in the file of its paper, or one `register_scheme` call elsewhere.
"""

from warpbank.arch.schemes import bow, gscalar, ltrf, malekeh, renaming
from warpbank.arch.schemes.registry import (
    BASELINE,
    RULES,
    SCHEMES,
    Row,
    Rule,
    Scheme,
    Units,
    first_scheme,
    parse_scheme,
    register_scheme,
    scheme_of,
)

__all__ = [
    "BASELINE",
    "RULES",
    "SCHEMES",
    "Row",
    "Rule",
    "Scheme",
    "Units",
    "first_scheme",
    "parse_scheme",
    "register_scheme",
    "scheme_of",
]

for _row in (*bow.ROWS, *malekeh.ROWS, *ltrf.ROWS, *gscalar.ROWS, *renaming.ROWS):
    register_scheme(_row)
RULES += (*ltrf.RULES, *gscalar.RULES)
