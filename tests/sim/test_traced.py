"""`warpbank run --trace`: Accel-Sim traces through the machine."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.cli.command import warpbank
from tests.program.accelsim.writer import Line, traceg

EXAMPLE = Path(__file__).parents[2] / "examples" / "accelsim"


def _random(seed: int, path: Path, *, version: int = 5, mode: int = 2) -> int:
    """Write a random trace; returns its instructions."""
    rng = random.Random(seed)

    def line(pc: int) -> Line:
        lanes = rng.choice((0xFFFFFFFF, 0xFFFFFFFF, 0xFF, 0x10, 0))
        addresses = tuple(rng.randrange(1 << 20) * 16 for _ in range(lanes.bit_count()))
        registers = [2 * rng.randrange(12) for _ in range(4)]
        kinds = (
            Line(pc, "FFMA", (registers[0],), tuple(registers[1:]), lanes),
            Line(pc, "IMAD.WIDE", (registers[0],), tuple(registers[1:]), lanes),
            Line(pc, "DADD", (registers[0],), tuple(registers[1:3]), lanes),
            Line(pc, "LDG.E.64", (registers[0],), (registers[1],), lanes, addresses),
            Line(pc, "STG.E.128", (), (registers[0], 4), lanes, addresses),
            Line(pc, "LDS", (registers[0],), (registers[1],), lanes, addresses),
            Line(pc, "HMMA.16816.F32", (4,), (8, 12, 16), lanes),
            Line(pc, "MUFU.RCP", (registers[0],), (registers[1],), lanes),
            Line(pc, "BRA", (), (), lanes),
        )
        return rng.choice(kinds)

    blocks = [
        [
            [
                *(line(16 * place) for place in range(rng.randrange(5, 25))),
                Line(0x500, "BAR.SYNC"),
                Line(0x510, "EXIT"),
            ]
            for _ in range(3)
        ]
        for _ in range(4)
    ]
    path.write_text(traceg(blocks, version=version, mode=mode, threads=96))
    return sum(len(warp) for block in blocks for warp in block)


@pytest.mark.parametrize("scheme", ["baseline", "bow", "bow-wb", "malekeh", "ccu-lru-gto"])
def test_traces_run(scheme: str, tmp_path: Path) -> None:
    seed = len(scheme)
    path = tmp_path / "kernel-1.traceg"
    count = _random(seed, path, version=3 + seed % 3)
    done = warpbank("run", "--trace", str(path), "--preset", "tiny", "--scheme", scheme, "--json")
    assert done.code == 0, f"seed {seed}: {done.err}"
    data = json.loads(done.out)
    assert data["warp_instructions"] >= count
    assert data["counters"]["cta.started"] == 4
    assert data["counters"]["barrier.opens"] == 4
    assert data["counters"]["rf.reads"] > count // 2
    assert data["operands_checked"] == 0, "there is nothing to check them against"
    assert data["energy"]["dynamic_total"] > 0


@pytest.mark.parametrize(
    ("scheme", "says"), [("gscalar", "values"), ("gscalar-half", "values"), ("bow-wr+gscalar", "values")]
)
def test_schemes_that_cannot_run_say_so(scheme: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel-1.traceg"
    _random(1, path)
    done = warpbank("run", "--trace", str(path), "--scheme", scheme)
    assert done.code == 2
    assert done.out == ""
    assert says in done.err
    assert scheme in done.err


@pytest.mark.parametrize("scheme", ["bow-wr", "ltrf", "ltrf-plus", "ltrf-strand", "renaming", "sw-rfc"])
def test_hints_come_from_executed_edges(scheme: str, tmp_path: Path) -> None:
    """Schemes whose compiler passes need code run on what was executed, and say so."""
    path = tmp_path / "kernel-1.traceg"
    count = _random(len(scheme), path)
    done = warpbank("run", "--trace", str(path), "--preset", "tiny", "--scheme", scheme, "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["warp_instructions"] >= count
    assert data["hints"] == "executed edges"
    assert "edges that" in done.err
    assert "executed" in done.err


def test_model_and_rtl_are_equal() -> None:
    file = str(EXAMPLE / "kernel-1.traceg")
    done = warpbank("lockstep", "--trace", file, "--preset", "tiny", "--engine", "pysim", "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["equal"]
    assert data["events"] > 500


def test_a_list_of_kernels() -> None:
    done = warpbank("run", "--trace", str(EXAMPLE / "kernelslist.g"), "--json")
    assert done.code == 0, done.err
    launches = json.loads(done.out)["launches"]
    assert [launch["kernel"] for launch in launches] == ["saxpy", "transpose"]


def test_what_is_not_known_is_told(tmp_path: Path) -> None:
    path = tmp_path / "kernel-1.traceg"
    path.write_text(traceg([[[Line(0, "FROB", (1,), (2,)), Line(16, "EXIT")]]], threads=32))
    done = warpbank("run", "--trace", str(path), "--preset", "tiny")
    assert done.code == 0, done.err
    assert "FROB" in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run",), "name a kernel"),
        (("run", "vectoradd", "--trace", "x.traceg"), "leave out KERNEL"),
        (("run", "--trace", "x.traceg"), "no trace x.traceg"),
        (("run", "--trace", "x.g"), "x.g"),
        (("run", "--trace", "x.traceg", "--max-registers", "32"), "--max-registers"),
        (("run", "--trace", "x.traceg", "--code-order", "source"), "--code-order"),
        (("run", "--trace", "x.traceg", "--max-instructions", "5"), "--max-instructions"),
        (("view", "--trace", "x.traceg", "--constants", "registers"), "--constants"),
        (("lockstep",), "name a kernel"),
        (("lockstep", "vectoradd", "--trace", "x.traceg"), "leave out KERNEL"),
        (("lockstep", "--trace", "x.traceg"), "no trace x.traceg"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], says: str) -> None:
    done = warpbank(*arguments)
    assert done.code == 2
    assert says in " ".join(done.err.split())
