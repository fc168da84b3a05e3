"""Tables of `warpbank explain`: a kernel's code block by block."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from warpbank.cli import output
from warpbank.program.listing import BlockListing
from warpbank.studies.explain import Explained, Liveness, Released


def explained(found: Explained) -> Iterator[RenderableType]:
    """Every kernel: what it needs, its loops, then each block with its instructions."""
    for code in found.kernels:
        facts = [
            ("instructions", code.instructions),
            ("registers per thread", code.registers or "not allocated"),
            ("predicates", code.predicates),
            ("most registers alive", code.pressure),
            ("shared memory", f"{code.shared_bytes} bytes"),
            ("local memory", f"{code.local_bytes} bytes per thread"),
            *(("loop", line) for line in code.loops),
        ]
        yield output.table(code.name, ("", "value"), facts)
        for block in code.blocks:
            yield _block(block, found.liveness)


def released(found: Released) -> Iterator[RenderableType]:
    """Every kernel's code with its flag instructions, and the registers that each instruction releases after
    reading them."""
    for kernel in found.kernels:
        for block in kernel.code.blocks:
            shown = _code(block)
            shown.add_column("releases")
            for row in block.rows:
                for word in kernel.words:
                    if word.first == row.pc:
                        name, _, rest = word.text.partition(" ")
                        shown.add_row("", f"[bold]{name}[/] {rest}")
                gone = " ".join(f"R{register}" for register in kernel.released[row.pc])
                shown.add_row(str(row.pc), escape(row.text), gone)
            yield shown


def _code(block: BlockListing) -> Table:
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
    made = _code(block)
    made.add_column("PTX line", justify="right")
    made.add_column(f"live ({liveness})", justify="right")
    made.add_column("last use of")
    if block.live_in:
        made.caption = f"live at its start: {' '.join(block.live_in)}"
        made.caption_justify = "left"
    for row in block.rows:
        made.add_row(str(row.pc), escape(row.text), str(row.line or ""), str(row.live), " ".join(row.dies))
    return made
