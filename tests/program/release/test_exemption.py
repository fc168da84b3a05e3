"""Registers that are not renamed: ranking, table size."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Block, Imm, Instr, Kernel, Op, Reg, Space
from warpbank.program.liveness import members
from warpbank.program.release.exemption import (
    TABLE_BYTES,
    Held,
    exempt_registers,
    exemptions,
    ranking,
    table_bits,
)
from warpbank.program.release.flags import release_flags
from warpbank.program.runner import compile_job, trace_job


def example() -> Kernel:
    """R0 lives throughout; R1 twice for three instructions each; R2 for six, written once; R3 for two."""

    def add(d: int, *sources: int) -> Instr:
        return Instr(Op.IADD, dst=Reg(d), srcs=tuple(Reg(s) for s in sources) or (Imm(1), Imm(2)))

    def store(r: int) -> Instr:
        return Instr(Op.ST, srcs=(Imm(0), Reg(r)), space=Space.SHARED)

    nop = Instr(Op.NOP)
    code = [
        add(0),
        add(1),
        add(3),
        store(3),
        store(1),
        add(2),
        add(1),
        nop,
        nop,
        store(1),
        nop,
        store(2),
        store(0),
    ]
    return Kernel("k", [Block("A", [*code, Instr(Op.EXIT)])], {}, 0, registers=4)


def test_ranking_by_hand() -> None:
    """An instruction at whose start a register is held counts; so does the one that writes it."""
    assert ranking(example()) == [Held(0, 13, 1), Held(1, 8, 2), Held(2, 7, 1), Held(3, 2, 1)]


def test_registers_held_equally_long_by_writes() -> None:
    kernel = example()
    del kernel.blocks[0].instrs[8]  # R1 is held for seven instructions, and R2 for six
    del kernel.blocks[0].instrs[3]  # R3 is never released: held to the end of the block
    ranked = ranking(kernel)
    assert [(h.lifetime, h.writes) for h in ranked if h.register in (1, 2)] == [(6, 2), (6, 1)]
    assert [h.register for h in ranked if h.register in (1, 2)] == [1, 2]


def test_table_size_of_the_paper() -> None:
    assert table_bits(48, 63, 1024) / 8 / 1024 == 3.69140625  # 3.69 KB
    assert TABLE_BYTES == 1024


def test_an_entry_numbers_every_physical_register() -> None:
    assert [table_bits(3, 5, physical) for physical in (2, 256, 257, 1024)] == [15, 120, 135, 150]


def test_a_write_that_is_not_reached_has_no_lifetime() -> None:
    kernel = example()
    kernel.blocks.append(Block("B", [Instr(Op.MOV, dst=Reg(7), srcs=(Imm(1),)), Instr(Op.EXIT)]))
    assert ranking(kernel)[-1] == Held(7, 0, 1)


@pytest.mark.parametrize(
    ("registers", "warps_per_cta", "machine", "served", "room"),
    [
        (40, 5, ["fermi"], 21, 984 // 20),  # 3 of 64 rows each
        (40, 30, ["fermi"], 30, 984 // 29),  # a CTA has more
        (40, 100, ["fermi"], 48, 984 // 47),  # the sub-core has no more
        (200, 10, ["turing"], 3, 312 // 2),  # a quarter of the CTA, rounded up; 100 of 256 rows each
        (200, 4, ["turing"], 2, 312),
        (150, 1, ["turing", "sub_core.rows=100"], 1, 50),
        (150, None, ["fermi", "sub_core.rows=8"], 1, 0),  # no launch, and no room for one warp
    ],
)
def test_warps_that_a_table_serves_by_hand(
    registers: int,
    warps_per_cta: int | None,
    machine: list[str],
    served: int,
    room: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many as the banks would hold without renaming, and those of the largest CTA; what is left beside one
    warp's registers is shared by the others' exempt ones."""
    asked = []
    monkeypatch.setattr(
        "warpbank.program.release.exemption.exempt_registers", lambda *values: asked.append(values) or 0
    )
    config = with_overrides(preset(machine[0]), machine[1:])
    kernels = {
        "other": Kernel("other", [], {}, 0, registers=1),
        "k": Kernel("k", [], {}, 0, registers=registers),
    }
    rows = [(0, 64), (0, 64)] if warps_per_cta is None else [(0, 64), (1, 1), (1, warps_per_cta), (1, 1)]
    launches = np.array(rows, dtype=[("kernel", "u4"), ("warps_per_cta", "u4")])
    assert exemptions(kernels, SimpleNamespace(launches=launches), config) == {"other": 0, "k": 0}
    core = config.sub_core
    assert asked[1] == (kernels["k"], served, core.warp_registers, core.mapping.table_bytes, room)


def test_as_many_are_exempted_as_the_table_asks_for() -> None:
    kernel = example()
    assert exempt_registers(kernel, 48, 1024) == 0
    entry = table_bits(48, 1, 1024) // 8
    for left in range(5):
        mask = exempt_registers(kernel, 48, 1024, left * entry)
        assert list(members(mask)) == sorted(h.register for h in ranking(kernel)[: 4 - left])
        assert table_bits(48, kernel.registers - mask.bit_count(), 1024) <= 8 * left * entry
    assert exempt_registers(kernel, 48, 1024, 3 * entry - 1).bit_count() == 2


def test_the_kernels_fit_into_the_table() -> None:
    most = 0
    for name in workloads.names():
        for kernel in compile_job(workloads.get(name).job("tiny")).values():
            mask = exempt_registers(kernel, 48, 1024)
            most = max(most, mask.bit_count())
            assert table_bits(48, kernel.registers - mask.bit_count(), 1024) <= 8 * 1024
            assert (mask == 0) == (kernel.registers <= 17)
            flags = release_flags(kernel, mask)
            assert not any(pbr & mask for pbr in flags.pbr)
    assert most


def test_exemptions_of_a_machine() -> None:
    """The table serves the warps that the banks would hold; exempt registers are reserved for each of
    them."""
    job = workloads.get("nw").job("tiny")
    kernels, trace = compile_job(job), trace_job(job)
    (kernel,) = kernels.values()
    fermi = preset("fermi")
    assert fermi.sub_core.table_entries == 819
    assert fermi.rows_per_warp(kernel.registers) == 2  # of 64: 32 warps
    (mask,) = exemptions(kernels, trace, fermi).values()
    assert 32 * (kernel.registers - mask.bit_count()) <= 819 < 32 * (kernel.registers - mask.bit_count() + 1)
    assert with_hints(trace, ("release",), fermi, lambda: kernels).exempt == (mask,)
    renames = with_overrides(fermi, ["sub_core.mapping.release_flags=on"])
    assert renames.launch_shape(kernel.registers, mask.bit_count()) == (
        0,
        819 // (kernel.registers - mask.bit_count()),
    )
    small = with_overrides(
        fermi, ["sub_core.mapping.table_bytes=1"]
    )  # no entry at all: nothing is renamed, and needs no table
    (most,) = exemptions(kernels, trace, small).values()
    assert most.bit_count() == kernel.registers
    assert renames.launch_shape(kernel.registers, most.bit_count()) == (0, 1024 // kernel.registers)


def test_exemptions_leave_one_warp_its_registers() -> None:
    """Where a CTA's warps do not fit without renaming: refused if the table has no room for the rest."""
    job = workloads.get("sgemm").job("tiny")
    kernels, trace = compile_job(job), trace_job(job)
    (kernel,) = kernels.values()
    small = with_overrides(
        preset("fermi"),
        ["sub_core.rows=8", "sub_core.mapping.table_bytes=1", "sub_core.mapping.release_flags=on"],
    )
    share = -(-int(trace.launches[0]["warps_per_cta"]) // small.sub_cores)
    room = (small.sub_core.warp_registers - kernel.registers) // (share - 1)
    assert 0 < room < kernel.registers
    assert exemptions(kernels, trace, small)[kernel.name].bit_count() == room
    assert small.launch_shape(kernel.registers, room) == (0, 0)
