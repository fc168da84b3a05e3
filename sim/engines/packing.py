"""Packing of a trace in the layouts that the RTL takes."""

from __future__ import annotations

from typing import Any

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.hdl.cta_dispatch import launch_layout
from warpbank.hdl.layouts import PAYLOAD_BITS, uop_layout
from warpbank.program.hints import Hints
from warpbank.program.release.fetch import covers
from warpbank.program.trace.schema import Trace


def pack(layout: Any, **fields: int) -> int:
    """Packed number whose bits are the fields as `layout` has them; those not given are 0."""
    return sum(content << layout[name].offset for name, content in fields.items())


def uops(trace: Trace, config: SmConfig) -> tuple[list[int], list[bool]]:
    """Constant fields of a uop per pc, and whether it goes through a collector if any lane executes."""
    layout = uop_layout(config)
    packed: list[int] = []
    collects: list[bool] = []
    hints = trace.hints if trace.hints is not None else Hints.none(len(trace.code))
    cover = covers(trace)
    for pc, row in enumerate(trace.code):
        sources = [int(register) for register in row["sources"][: int(row["source_count"])]]
        names = ("unit", "destination", "count", "predicates_read", "predicates_written", "control")
        packed.append(
            pack(
                layout,
                pc=pc,
                sources=sum(register << (8 * slot) for slot, register in enumerate(sources)),
                source_valid=(1 << len(sources)) - 1,
                **_flags(trace, cover, pc, config),
                **{
                    name: int(getattr(hints, name)[pc])
                    for name in ("write_back", "near", "dead", "scalar", "fresh")
                },
                **{name: int(row[name]) for name in names},
            )
        )
        collects.append(
            row["unit"] != Unit.CONTROL
            or bool(sources)
            or bool(row["count"])
            or bool(row["predicates_written"])
        )
    return packed, collects


def fill(uop: Any, constants: list[int], collects: list[bool], layout: Any) -> int:
    """Next uop of a warp (`warpbank.golden.stream.TraceUop`), as the layout has it; the lists are those of
    `uops`."""
    marks: dict[str, int] = {}
    if uop.arrive:
        marks = {
            "arrive": 1,
            "wait": int(uop.wait),
            "barrier": uop.barrier,
            "barrier_warps": uop.barrier_warps,
        }
    if uop.enters:
        marks["enters"] = 1
    return constants[uop.pc] | pack(
        layout,
        seq=uop.seq,
        mask=uop.lane_mask,
        memory=int(uop.memory),
        lines=len(uop.lines),
        passes=uop.passes,
        part=int(uop.part),
        collects=int(bool(uop.mask) and collects[uop.pc]),
        last=int(uop.last),
        **marks,
    )


def _flags(trace: Trace, cover: dict[int, int], pc: int, config: SmConfig) -> dict[str, int]:
    """The release flags at a pc, on a machine that takes them."""
    if not config.takes_flags:
        return {}
    fields = {"covered": 1, "first": cover[pc]} if pc in cover else {}
    word = trace.flag_words.get(pc)
    if word is None:
        return fields
    narrow = 0  # what the word means if its numbers are of 6 bits
    for place in range(0, PAYLOAD_BITS, 6):
        narrow |= 1 << (word.payload >> place & 63)
    return {**fields, "release": word.payload, "wide": int(narrow != word.registers)}


def launches(trace: Trace, config: SmConfig) -> list[int]:
    """Packed launches, each a `warpbank.hdl.cta_dispatch.launch_layout`."""
    layout = launch_layout(config)
    packed = []
    for launch in trace.launches:
        exempt = trace.exempt[int(launch["kernel"])] if trace.exempt else 0
        registers = int(launch["registers"])
        shape = registers, exempt.bit_count(), int(launch["warps_per_cta"])
        rows, slots = config.launch_shape(*shape)
        flags = {}
        if config.takes_flags:
            flags = {"registers": registers, "exempt": exempt, "kept": config.launch_reserve(*shape)}
        names = ("ctas", "warps_per_cta", "shared_bytes")
        packed.append(
            pack(layout, rows=rows, slots=slots, **flags, **{name: int(launch[name]) for name in names})
        )
    return packed
