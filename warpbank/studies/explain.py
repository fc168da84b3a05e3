"""Explanation of a kernel (`warpbank explain`): its machine code as tables, or as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from warpbank.cli.tables import table
from warpbank.program.errors import WarpbankError
from warpbank.program.intervals.formation import form
from warpbank.program.isa import Kernel
from warpbank.program.listing import BlockListing, Listing, listing
from warpbank.program.liveness import thread_liveness
from warpbank.program.release.flags import Flags, release_flags
from warpbank.program.release.words import FlagWord, flag_words
from warpbank.program.simt_liveness import simt_liveness


class Liveness(StrEnum):
    """Liveness to show: the thread's, or what is safe for the whole warp."""

    THREAD = "thread"
    SIMT = "simt"


def _listing(kernel: Kernel, liveness: Liveness) -> Listing:
    return listing(kernel, simt_liveness if liveness is Liveness.SIMT else thread_liveness)


def to_dict(kernels: Mapping[str, Kernel], liveness: Liveness) -> dict[str, Any]:
    """Listings of all kernels as plain data."""
    return {
        "liveness": str(liveness),
        "kernels": [asdict(_listing(kernel, liveness)) for kernel in kernels.values()],
    }


def _release(kernel: Kernel) -> tuple[Flags, list[FlagWord]]:
    flags = release_flags(kernel)
    try:
        return flags, flag_words(kernel, flags)
    except ValueError as error:
        raise WarpbankError(str(error)) from None


def release_to_dict(kernels: Mapping[str, Kernel]) -> dict[str, Any]:
    """Release flags of all kernels as plain data: a flag per pc, and the flag instructions."""
    made = []
    for kernel in kernels.values():
        flags, words = _release(kernel)
        written = [{"before": w.first, "text": w.text, "bits": f"{w.bits:#018x}"} for w in words]
        made.append({"name": kernel.name, "flags": flags.pir.tolist(), "flag_instructions": written})
    return {"kernels": made}


def release_tables(kernels: Mapping[str, Kernel]) -> list[RenderableType]:
    """Release tables: every kernel's code with its flag instructions, and the registers that each instruction
    releases after reading them."""
    made: list[RenderableType] = []
    for kernel in kernels.values():
        flags, words = _release(kernel)
        code = kernel.instructions()
        for block in _listing(kernel, Liveness.SIMT).blocks:
            shown = _code_table(block)
            shown.add_column("releases")
            for row in block.rows:
                for word in words:
                    if word.first == row.pc:
                        name, _, rest = word.text.partition(" ")
                        shown.add_row("", f"[bold]{name}[/] {rest}")
                gone = (
                    f"R{r}"
                    for k, r in enumerate(code[row.pc].registers_read())
                    if flags.dead[row.pc] >> k & 1
                )
                shown.add_row(str(row.pc), escape(row.text), " ".join(gone))
            made.append(shown)
    return made


def interval_drawing(kernels: Mapping[str, Kernel], limit: int) -> str:
    """Interval drawing: every kernel's control flow graph with its register-intervals of at most `limit`
    registers, as SVG."""
    from warpbank.program.intervals.drawing import (
        draw,
    )  # its library is slow to load, and no other command needs it

    try:
        return draw(kernels, {name: form(kernel, limit) for name, kernel in kernels.items()})
    except ValueError as error:
        raise WarpbankError(str(error)) from None


def tables(kernels: Mapping[str, Kernel], liveness: Liveness) -> list[RenderableType]:
    """Tables of all kernels: what each needs, its loops, then each block with its instructions."""
    made: list[RenderableType] = []
    for kernel in kernels.values():
        code = _listing(kernel, liveness)
        facts = [
            ("instructions", code.instructions),
            ("registers per thread", code.registers or "not allocated"),
            ("predicates", code.predicates),
            ("most registers alive", code.pressure),
            ("shared memory", f"{code.shared_bytes} bytes"),
            ("local memory", f"{code.local_bytes} bytes per thread"),
            *(("loop", line) for line in code.loops),
        ]
        made.append(table(code.name, ("", "value"), facts))
        made += [_block(block, liveness) for block in code.blocks]
    return made


def _code_table(block: BlockListing) -> Table:
    """An empty table for a block's instructions; its title tells where control comes from and goes to."""
    title = (
        f"{block.label}   from {', '.join(block.predecessors) or 'launch'}   to {', '.join(block.successors)}"
    )
    if block.depth:
        title += f"   loop depth {block.depth}{', header' if block.header else ''}"
    if block.reconvergence is not None:
        title += (
            f"   {'divergent' if block.divergent else 'uniform'} branch, lanes meet at {block.reconvergence}"
        )
    made = Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
        pad_edge=False,
    )
    made.add_column("pc", justify="right")
    made.add_column("instruction", overflow="fold")
    return made


def _block(block: BlockListing, liveness: Liveness) -> Table:
    """One block with what is alive."""
    made = _code_table(block)
    made.add_column("PTX line", justify="right")
    made.add_column(f"live ({liveness})", justify="right")
    made.add_column("last use of")
    if block.live_in:
        made.caption = f"live at its start: {' '.join(block.live_in)}"
        made.caption_justify = "left"
    for row in block.rows:
        made.add_row(str(row.pc), escape(row.text), str(row.line or ""), str(row.live), " ".join(row.dies))
    return made
