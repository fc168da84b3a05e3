"""Levels of a design: an estimate of the gates on its longest path, from RTL in which wires are whole words.

A path runs from registers, memories that are read at the clock edge, and inputs to the next of those, through
modules. Words are not taken apart, so that two bits of one word may seem to form a loop; the longest path
leaves out what closes one.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable

_MODULE = re.compile(r"^module (\S+)\n(.*?)^end$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^  (cell (\S+) \S+|process \S+)\n(.*?)^  end\n", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"^  wire width \d+ (input|output) \d+ +(\S+)$", re.MULTILINE)
_CONNECT = re.compile(r"^connect (\{[^}]*\}|\S+(?: \[[\d:]+\])?) (.+)$", re.MULTILINE)
_PIN = re.compile(r"^    connect (\S+) (.+)$", re.MULTILINE)
_PARAMETER = re.compile(r"^    parameter \\(\w+) (\S+)$", re.MULTILINE)
_WIRE = re.compile(r"(?<!\S)([\\$][^\s{}\[\]]+)")
_LINE = re.compile(r"^ *(assign|switch|case) ?(.*)$", re.MULTILINE)

#: Node of the graph: a module's wire.
Node = tuple[str, str]
#: Inputs and gates from them, by node.
Graph = dict[Node, list[tuple[Node, float]]]


def levels(rtlil: str) -> float:
    """Gates on the longest path of a design, in two-input gates.

    Parameters
    ----------
    rtlil : text of the design (`warpbank.synth.netlist.to_rtlil`).
    """
    modules = dict(_MODULE.findall(rtlil))
    ports = {name: {wire: way for way, wire in _PORT.findall(body)} for name, body in modules.items()}
    graph: Graph = defaultdict(list)
    for module, body in modules.items():
        for head, kind, inside in _BLOCK.findall(body):
            if head.startswith("process"):
                _process(graph, module, inside)
            elif kind in ports:
                _instance(graph, module, kind, ports[kind], inside)
            else:
                _cell(graph, module, kind, inside)
        for target, source in _CONNECT.findall(body):
            _edges(graph, module, _wires(target), _wires(source), 0.0)
    return _longest(graph)


def _wires(text: str) -> list[str]:
    return _WIRE.findall(text)


def _edges(graph: Graph, module: str, targets: Iterable[str], sources: Iterable[str], gates: float) -> None:
    inputs = [((module, source), gates) for source in sources]
    for target in targets:
        graph[module, target] += inputs


def _instance(graph: Graph, module: str, kind: str, ports: dict[str, str], inside: str) -> None:
    for port, text in _PIN.findall(inside):
        for wire in _wires(text):
            if ports.get(port) == "output":
                graph[module, wire].append(((kind, port), 0.0))
            else:
                graph[kind, port].append(((module, wire), 0.0))


def _cell(graph: Graph, module: str, kind: str, inside: str) -> None:
    if kind == "$dff" or kind.startswith(("$memwr", "$meminit")):
        return
    pins, sizes = dict(_PIN.findall(inside)), dict(_PARAMETER.findall(inside))
    if kind == "$memrd_v2":
        if sizes["CLK_ENABLE"] == "0":
            _edges(graph, module, _wires(pins["\\DATA"]), _wires(pins["\\ADDR"]), 2.0 * int(sizes["ABITS"]))
        return
    output = pins.get("\\Y", "")
    sources = [wire for pin, text in pins.items() if pin != "\\Y" for wire in _wires(text)]
    _edges(graph, module, _wires(output), sources, _gates(kind, sizes))


def _gates(kind: str, sizes: dict[str, str]) -> float:
    """Two-input gates between the inputs and the output of a cell."""
    width = int(sizes.get("A_WIDTH", sizes.get("WIDTH", "1")))
    doublings = math.ceil(math.log2(max(width, 2)))
    if kind in ("$add", "$sub", "$neg", "$lt", "$le", "$gt", "$ge"):
        return 2.0 * doublings
    if kind == "$mul":
        return 4.0 * doublings
    if kind in ("$eq", "$ne"):
        return 1.0 + doublings
    if kind.startswith(("$reduce", "$logic")):
        return float(doublings)
    if kind in ("$shl", "$shr", "$sshr", "$shift", "$shiftx"):
        return 2.0 * min(int(sizes["B_WIDTH"]), doublings)
    return 2.0 if kind == "$mux" else 0.0 if kind == "$not" else 1.0


def _process(graph: Graph, module: str, inside: str) -> None:
    """A process chooses what it assigns by what its switches look at: a gate or two for each assignment that
    follows another."""
    targets: set[str] = set()
    sources: set[str] = set()
    for word, rest in _LINE.findall(inside):
        if word == "switch":
            sources.update(_wires(rest))
        elif word == "assign":
            first, *others = _wires(rest) or [""]
            targets.add(first)
            sources.update(others)
    switches = inside.count("switch ")
    _edges(graph, module, targets, sources, 2.0 * math.log2(1 + switches))


def _longest(graph: Graph) -> float:
    """Length of the longest path, what closes a loop left out."""
    length: dict[Node, float] = {}
    active: set[Node] = set()
    for start in graph:
        stack = [start]
        while stack:
            node = stack[-1]
            if node in length:
                stack.pop()
                continue
            active.add(node)
            inputs = graph.get(node, [])
            open_ = [other for other, _ in inputs if other not in length and other not in active]
            if open_:
                stack += open_
                continue
            length[node] = max((length.get(other, 0.0) + gates for other, gates in inputs), default=0.0)
            active.discard(node)
            stack.pop()
    return max(length.values(), default=0.0)
