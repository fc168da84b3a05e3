"""Drawing of what register renaming powers (Fig. 3a, and Fig. 2 and 10 over time)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as xml

# Pixels.
_WIDTH, _HEIGHT, _LANE = 900, 160, 9  # of a panel; of a register's line
_LEFT, _TOP, _GAP = 84, 40, 66
#: Key of a curve -> colour and what it is.
_CURVES = {
    "given": ("#999999", "given without renaming"),
    "base": ("#c8452f", "powered, first touch"),
    "renamed": ("#2f6db5", "powered, renaming"),
}


def draw(title: str, renamed: Mapping[str, Any], base: Mapping[str, Any]) -> str:
    """SVG drawing of results of `warpbank.studies.gating.Gating` with and without renaming over the cycles:
    stays of a warp's registers in physical registers; registers that are powered; sub-arrays."""
    cycles = max(renamed["cycles"], base["cycles"])
    registers = sorted({register for register, _, _ in renamed["first"]})
    lanes = _LANE * max(len(registers), 1)
    height = _TOP + lanes + 2 * _HEIGHT + 3 * _GAP + 20
    size = {"width": str(_LEFT + _WIDTH + 20), "height": str(height)}
    root = xml.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": "sans-serif", "font-size": "12", **size}
    )
    root.set("viewBox", f"0 0 {size['width']} {height}")
    xml.SubElement(root, "rect", {**size, "fill": "white"})
    _text(root, _LEFT, 20, title)
    _lifetimes(root, renamed["first"], registers, cycles)
    top = _TOP + lanes + _GAP
    given, powered = renamed["curve"], base["curve"]
    _panel(
        root,
        top,
        "registers",
        cycles,
        {
            "given": (given["step"], given["given"]),
            "base": (powered["step"], powered["registers"]),
            "renamed": (given["step"], given["registers"]),
        },
    )
    _panel(
        root,
        top + _HEIGHT + _GAP,
        f"sub-arrays, of {renamed['of_subarrays']}",
        cycles,
        {"base": (powered["step"], powered["subarrays"]), "renamed": (given["step"], given["subarrays"])},
    )
    for place, (colour, name) in enumerate(_CURVES.values()):
        x = _LEFT + 200 * place
        xml.SubElement(root, "rect", x=str(x), y=str(height - 22), width="14", height="10", fill=colour)
        _text(root, x + 20, height - 13, name)
    return xml.tostring(root, encoding="unicode") + "\n"


def _text(root: xml.Element, x: float, y: float, text: str, anchor: str = "start") -> None:
    xml.SubElement(root, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}).text = text


def _axis(root: xml.Element, bottom: int, cycles: int) -> None:
    _text(root, _LEFT + _WIDTH / 2, bottom + 32, "cycle", "middle")
    for tenth in range(0, 11, 2):
        _text(root, _LEFT + tenth * _WIDTH / 10, bottom + 16, str(cycles * tenth // 10), "middle")


def _named(root: xml.Element, top: int, bottom: int, name: str) -> None:
    """Name of an axis that runs upwards."""
    middle = (top + bottom) / 2
    made = xml.SubElement(
        root,
        "text",
        {
            "x": "16",
            "y": f"{middle:.1f}",
            "text-anchor": "middle",
            "transform": f"rotate(-90 16 {middle:.1f})",
        },
    )
    made.text = name


def _lifetimes(root: xml.Element, stays: list[list[int]], registers: list[int], cycles: int) -> None:
    """A line per register, drawn where it has a physical register."""
    _text(root, _LEFT, _TOP - 6, "registers of a warp that have a physical register")
    for place, register in enumerate(registers):
        y = _TOP + _LANE * place
        if place % 4 == 0:
            _text(root, _LEFT - 6, y + _LANE, f"R{register}", "end")
        xml.SubElement(root, "path", {"d": f"M{_LEFT} {y + _LANE - 1}h{_WIDTH}", "stroke": "#eeeeee"})
    for register, start, end in stays:
        y = _TOP + _LANE * registers.index(register) + 1
        x, width = _LEFT + start / cycles * _WIDTH, max((end - start) / cycles * _WIDTH, 0.3)
        xml.SubElement(
            root, "rect", x=f"{x:.2f}", y=str(y), width=f"{width:.2f}", height=str(_LANE - 3), fill="#2f6db5"
        )
    bottom = _TOP + _LANE * len(registers)
    _named(root, _TOP, bottom, "register")
    _axis(root, bottom, cycles)


def _panel(
    root: xml.Element, top: int, label: str, cycles: int, curves: Mapping[str, tuple[int, list[float]]]
) -> None:
    """Quantities over the cycles, as steps; per curve the cycles of a step."""
    most = max((max(values, default=0) for _, values in curves.values()), default=0) or 1
    bottom = top + _HEIGHT
    xml.SubElement(
        root, "path", {"d": f"M{_LEFT} {top}V{bottom}H{_LEFT + _WIDTH}", "fill": "none", "stroke": "black"}
    )
    _text(root, _LEFT, top - 6, label)
    _named(root, top, bottom, label.partition(",")[0])
    _text(root, _LEFT - 6, top + 4, f"{most:.4g}", "end")
    _text(root, _LEFT - 6, bottom + 4, "0", "end")
    for name, (step, values) in curves.items():
        width = step / cycles * _WIDTH
        path = f"M{_LEFT} {bottom}"
        for place, value in enumerate(values):
            right = min(_LEFT + (place + 1) * width, _LEFT + _WIDTH)
            path += f"V{bottom - value / most * _HEIGHT:.1f}H{right:.1f}"
        xml.SubElement(
            root, "path", {"d": path, "fill": "none", "stroke": _CURVES[name][0], "stroke-width": "1.5"}
        )
    _axis(root, bottom, cycles)
