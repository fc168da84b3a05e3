"""The trace in the layouts that the RTL takes."""

from __future__ import annotations

from typing import Any

from arch.rooms import SmConfig
from arch.uop import Unit
from hdl.cta_dispatch import launch_layout
from hdl.seams import uop_layout
from program.hints import Hints
from program.trace.schema import Trace


def pack(layout: Any, **fields: int) -> int:
    """A number whose bits are the fields as `layout` has them; those not given are 0."""
    return sum(content << layout[name].offset for name, content in fields.items())


def uops(trace: Trace, config: SmConfig) -> tuple[list[int], list[bool]]:
    """Per pc: the constant fields of its uop, and whether it goes through a collector if any lane executes."""
    layout = uop_layout(config)
    packed: list[int] = []
    collects: list[bool] = []
    hints = trace.hints if trace.hints is not None else Hints.none(len(trace.code))
    for pc, row in enumerate(trace.code):
        sources = [int(register) for register in row["sources"][: int(row["source_count"])]]
        names = ("unit", "destination", "count", "predicates_read", "predicates_written", "control")
        packed.append(pack(
            layout,
            pc=pc,
            sources=sum(register << (8 * slot) for slot, register in enumerate(sources)),
            source_valid=(1 << len(sources)) - 1,
            **{name: int(getattr(hints, name)[pc]) for name in ("write_back", "near", "dead", "scalar", "fresh")},
            **{name: int(row[name]) for name in names},
        ))
        collects.append(row["unit"] != Unit.CONTROL or bool(sources) or bool(row["count"]) or bool(row["predicates_written"]))
    return packed, collects


def launches(trace: Trace, config: SmConfig) -> list[int]:
    """Per launch, its `hdl.cta_dispatch.launch_layout`."""
    layout = launch_layout(config)
    packed = []
    for launch in trace.launches:
        rows = config.rows_per_warp(int(launch["registers"]))
        names = ("ctas", "warps_per_cta", "shared_bytes")
        slots = min(config.sub_core.warps, config.sub_core.rows // rows)
        packed.append(pack(layout, rows=rows, slots=slots, **{name: int(launch[name]) for name in names}))
    return packed
