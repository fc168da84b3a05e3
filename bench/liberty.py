"""Speed of Liberty readers: ours beside two of the package index, `python -m bench.liberty FILE.lib ...`.

It needs the packages `liberty-parser` and `libparse`, which nothing else here does.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import libparse
import typer
from liberty.parser import parse_liberty

from bench import command_line
from warpbank.synth.liberty import Group, parse

#: Groups that a library of cells is made of; each reader has to find all of them.
KINDS = ("cell", "pin", "timing", "ff", "internal_power")


def _ours(path: Path) -> Counter[str]:
    """Groups that our reader finds, by kind."""
    kinds: Counter[str] = Counter()
    todo = [parse(path.read_text(), path.name)]
    while todo:
        group = todo.pop()
        kinds[group.kind] += 1
        kinds["values"] += len(group.complex.get("values", []))
        todo += group.groups
    return kinds


def _liberty_parser(path: Path) -> Counter[str]:
    """Groups that `liberty-parser` finds, by kind."""
    kinds: Counter[str] = Counter()
    todo: list[Any] = [parse_liberty(path.read_text())]
    while todo:
        group = todo.pop()
        kinds[group.group_name] += 1
        kinds["values"] += len(group.get_attributes("values"))
        todo += group.groups
    return kinds


def _libparse(path: Path) -> Counter[str]:
    """Groups that `libparse` (the reader of Yosys) finds, by kind, as objects of Python like the others'."""
    kinds: Counter[str] = Counter()
    file = path.open()  # the reader closes it
    parser = libparse.LibertyParser(file)

    def group(node: Any) -> Group:
        kinds[node.id] += 1
        made = Group(node.id, list(node.args))
        for child in node.children:
            if child.value:
                made.attributes[child.id] = child.value
            elif child.children:
                made.groups.append(group(child))
            else:
                kinds[child.id] += 1
                made.complex.setdefault(child.id, []).append(list(child.args))
        return made

    group(parser.ast)
    return kinds


READERS: dict[str, Callable[[Path], Counter[str]]] = {
    "ours": _ours,
    f"liberty-parser {version('liberty-parser')}": _liberty_parser,
    f"libparse {version('libparse')}": _libparse,
}


def main(
    files: Annotated[list[Path], typer.Argument(help="Liberty files, as plain text.", exists=True)],
    repeats: Annotated[int, typer.Option(help="Rounds; each reader reads a file once in a round.")] = 3,
) -> None:
    """Read every file with every reader in turns, and print the median times and what was found."""
    totals = dict.fromkeys(READERS, 0.0)
    for path in files:
        times: dict[str, list[float]] = {name: [] for name in READERS}
        found = {}
        for _ in range(repeats):
            for name, read in READERS.items():
                begin = time.perf_counter()
                kinds = read(path)
                times[name].append(time.perf_counter() - begin)
                found[name] = {kind: kinds[kind] for kind in (*KINDS, "values")}
        print(f"{path.name}, {path.stat().st_size / 1e6:.1f} MB: {found['ours']}")
        for name, taken in times.items():
            totals[name] += statistics.median(taken)
            same = "" if found[name] == found["ours"] else f"; it finds {found[name]}"
            print(f"  {name:24} {statistics.median(taken):7.3f} s{same}", flush=True)
    print("all files")
    for name, total in totals.items():
        print(f"  {name:24} {total:7.3f} s, {total / totals['ours']:.1f} x ours")


if __name__ == "__main__":
    command_line.run(main)
