"""Registers that are not renamed: ranking, table size."""

from __future__ import annotations

from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Block, Imm, Instr, Kernel, Op, Reg, Space
from warpbank.program.liveness import members
from warpbank.program.release.exemption import Held, exempt_registers, exemptions, ranking, table_bits
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
