"""Insertion of flag instructions in a trace, where a warp meets them in its code (renaming, section 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from warpbank.arch.uop import Control, Unit
from warpbank.program.hints import Hints
from warpbank.program.isa import Kernel
from warpbank.program.release.flags import release_flags
from warpbank.program.release.words import FlagWord, flag_words
from warpbank.program.trace.schema import CODE, DYNAMIC, Trace


@dataclass(frozen=True)
class Release:
    """Release flags of the kernels of a trace, one after the other.

    Parameters
    ----------
    dead : per pc (u1), bit k: source k is released after this read (`Hints.dead`).
    words : flag instructions in the order of the code; pcs are those of the trace.
    exempt : per kernel, the registers that are never renamed, as a bit mask.
    """

    dead: np.ndarray
    words: tuple[FlagWord, ...]
    exempt: tuple[int, ...]


def release_all(
    kernels: Mapping[str, Kernel], exempt: Mapping[str, int] | None = None, *, empty: bool = False
) -> Release:
    """Release flags for the trace of a job with these kernels (`warpbank.program.runner.compile_job`).

    Parameters
    ----------
    exempt : by kernel, registers that are not renamed (`warpbank.program.release.exemption`); None: all are.
    empty : keep pir instructions without any flag.
    """
    dead: list[np.ndarray] = []
    words: list[FlagWord] = []
    masks = [0 if exempt is None else exempt[name] for name in kernels]
    pc = 0
    for kernel, mask in zip(kernels.values(), masks, strict=True):
        flags = release_flags(kernel, mask)
        dead.append(flags.dead)
        words += [replace(word, first=word.first + pc) for word in flag_words(kernel, flags, empty=empty)]
        pc += len(flags.dead)
    return Release(np.concatenate(dead), tuple(words), tuple(masks))


def met(trace: Trace, release: Release) -> tuple[np.ndarray, np.ndarray]:
    """Meetings of warps with flag instructions: rows of `trace.dynamic` and, for each, the number of a word
    that stands before it.

    A warp meets a pbr whenever it starts its block, and a pir whenever it comes among the instructions that
    it covers, from elsewhere or by starting them again: after a barrier on one side of a divergent branch
    that may be in their middle. Whether a pir is then fetched is up to the release flag cache. Other
    instructions that passes have put into the trace are passed over.
    """
    rows = np.flatnonzero(trace.dynamic["pc"] < len(release.dead))
    pcs = trace.dynamic["pc"][rows].astype(np.int64)
    starts = np.zeros(len(trace.dynamic) + 1, np.int64)
    np.add.at(starts, trace.warps["first"][trace.warps["length"] > 0].astype(np.int64), 1)
    warp = np.cumsum(starts)[rows]
    group = np.full(len(release.dead), -1)
    firsts = np.full(len(release.dead), -1)  # word of the pir that begins at a pc
    at: list[np.ndarray] = []
    which: list[np.ndarray] = []
    for number, word in enumerate(release.words):
        if word.control is Control.PIR:
            group[word.first : word.first + word.covers] = number
            firsts[word.first] = number
    for number, word in enumerate(release.words):
        if word.control is Control.PBR:
            found = rows[pcs == word.first]
            at.append(found)
            which.append(np.full(len(found), number))
    mine = group[pcs]
    came = np.ones(len(rows), bool)
    came[1:] = (mine[1:] != mine[:-1]) | (warp[1:] != warp[:-1])
    enters = (mine >= 0) & (came | (firsts[pcs] >= 0))
    at.append(rows[enters])
    which.append(mine[enters])
    joined, numbers = np.concatenate(at), np.concatenate(which)
    order = np.lexsort((numbers, joined))  # words before one instruction in the order of the code
    return joined[order], numbers[order]


def insert_flags(trace: Trace, release: Release) -> Trace:
    """Trace with its flag instructions behind the code, executed where `met` says, and with the flags as the
    hint `dead`.

    A flag instruction is a control uop without register operands, under the mask of the warp's existing
    lanes; what it holds is `Trace.flag_words` of its pc.
    """
    base = len(trace.code)
    code = np.zeros(len(release.words), CODE)
    code["unit"], code["control"] = Unit.CONTROL, [word.control for word in release.words]
    at, numbers = met(trace, release)
    first, length = trace.warps["first"].astype(np.int64), trace.warps["length"].astype(np.int64)
    masks = np.zeros(len(trace.dynamic), np.uint32)
    masks[_spread(first, length)] = np.repeat(trace.warps["mask"], length)
    rows = np.zeros(len(at), DYNAMIC)
    rows["pc"], rows["mask"] = base + numbers, masks[at]
    before = np.concatenate(
        ([0], np.cumsum(np.bincount(at, minlength=len(trace.dynamic))))
    )  # words before each row
    warps = trace.warps.copy()
    warps["first"] = first + before[first]
    warps["length"] = length + before[first + length] - before[first]
    hints = Hints.none(base) if trace.hints is None else trace.hints
    dead = np.zeros(base + len(code), np.uint8)
    dead[: len(release.dead)] = release.dead
    return replace(
        trace,
        code=np.concatenate([trace.code, code]),
        text=[*trace.text, *(word.text for word in release.words)],
        ptx_line=np.concatenate([trace.ptx_line, trace.ptx_line[[word.first for word in release.words]]]),
        dynamic=np.insert(trace.dynamic, at, rows),
        warps=warps,
        flag_words=dict(enumerate(release.words, base)),
        exempt=release.exempt,
        hints=replace(Hints.join([hints, Hints.none(len(code))]), dead=dead),
    )


def _spread(first: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Rows of all warps, warp after warp."""
    return np.repeat(first - np.concatenate(([0], np.cumsum(length)[:-1])), length) + np.arange(length.sum())
