"""Row of register renaming."""

from __future__ import annotations

from warpbank.arch.schemes.registry import Row
from warpbank.arch.units import MappingUnit, Part, Size

#: Fields of the machine that is built for 1 GHz: an issue stage, and names that are looked up in cycles of
#: their own.
_STAGES = ("sub_core.front_end.issue_stages=1", "sub_core.mapping.lookup_stages=2")

ROWS = (
    Row(
        name="renaming",
        description=(
            "Register renaming: a register has a physical one only from its first write to its last read."
        ),
        paper="Jeon and Annavaram, CENG-2014-05",
        scheduler="two_level",
        hints=("release",),
        units=(
            MappingUnit(
                name="renaming",
                golden="warpbank.golden.mapping.renaming:Renaming",
                hdl="warpbank.hdl.mapping.renaming:Renaming",
                renames=True,
                exported="renaming",
                size=Size("fermi", quick=True, overrides=_STAGES),
                parts=(
                    Part("renaming_table", Size("fermi", quick=True), shown=True),
                    Part("availability", Size("fermi", quick=True), shown=True),
                    Part("release", Size("fermi", quick=True), shown=True),
                    Part("flag_cache", Size("fermi", quick=True), shown=True),
                    Part("exempt"),
                    Part("deadlock_reserve"),
                    Part("renaming_table_1k"),
                    Part("operand_lookup", Size("fermi", clock=0.9, quick=True)),
                ),
                tried={"sub_core.mapping.table_bytes": (512, 1024, 2048)},
            ),
        ),
        representative=True,
    ),
)
