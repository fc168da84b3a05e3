"""Register allocator: predicates first, then rounds of coalescing, colouring and spilling until every group
has a register."""

from __future__ import annotations

from warpbank.program.allocation.colouring import Colourer, Colouring
from warpbank.program.allocation.interference import Interference, is_move
from warpbank.program.allocation.predicates import assign_predicates
from warpbank.program.allocation.spilling import constant_groups, spill
from warpbank.program.allocation.work import AllocationReport, Work
from warpbank.program.cfg import Cfg
from warpbank.program.errors import WarpbankError
from warpbank.program.isa import RZ, VIRTUAL, Instr, Kernel, Reg
from warpbank.program.options import MAX_REGISTERS, MIN_REGISTERS

#: Computing a constant again costs about this much of a load from local memory.
RECOMPUTE_COST = 0.3


def allocate(kernel: Kernel, max_registers: int = MAX_REGISTERS) -> Kernel:
    """A copy of `kernel` over at most `max_registers` physical registers."""
    return allocate_with_report(kernel, max_registers)[0]


def allocate_with_report(
    kernel: Kernel, max_registers: int = MAX_REGISTERS
) -> tuple[Kernel, AllocationReport]:
    """A copy of `kernel` over at most `max_registers` physical registers, and the report of its allocation.

    Raises
    ------
    WarpbankError : `max_registers` is out of range, or an instruction needs more registers at once.
    """
    if not MIN_REGISTERS <= max_registers <= MAX_REGISTERS:
        raise WarpbankError(
            f"max_registers is {max_registers}: a thread has between {MIN_REGISTERS} and {MAX_REGISTERS} "
            "registers"
        )
    work = Work(kernel, max_registers)
    cfg = Cfg(work.kernel)
    assign_predicates(work, cfg)
    first: list[int] = []
    while True:
        work.report.rounds += 1
        graph = Interference(work, cfg)
        _coalesce(work, graph)
        for base in constant_groups(work.kernel):
            if base - VIRTUAL in graph.costs:
                graph.costs[base - VIRTUAL] *= RECOMPUTE_COST
        colouring = _colour(work, graph, first)
        if not colouring.failed:
            break
        spill(work, [base + VIRTUAL for base in sorted(set(colouring.failed))])
        first = []
    _finish(work, graph, _tightened(work, graph, colouring))
    return work.kernel, work.report


def _coalesce(work: Work, graph: Interference) -> None:
    words = graph.coalesce(work.max_registers)
    work.rename(words)
    work.kernel.groups = {base: width for base, width in work.kernel.groups.items() if base not in words}
    _drop_moves(work)


def _drop_moves(work: Work) -> None:
    """Remove copies of a register to itself."""
    for b, block in enumerate(work.kernel.blocks):
        kept = [not (is_move(i) and i.srcs[0] == i.dst) for i in block.instrs]
        if not all(kept):
            work.report.moves_coalesced += kept.count(False)
            block.instrs = [i for i, keep in zip(block.instrs, kept, strict=True) if keep]
            work.origins[b] = [o for o, keep in zip(work.origins[b], kept, strict=True) if keep]


def _colour(work: Work, graph: Interference, first: list[int]) -> Colouring:
    """Colour; groups that may not be spilled but found no place are served earlier in the next attempt."""
    while True:
        colouring = Colourer(graph, work.max_registers, first).run()
        if not colouring.stuck:
            return colouring
        hopeless = [b for b in colouring.stuck if b in first]
        if hopeless:
            raise WarpbankError(_too_many(work, hopeless[0] + VIRTUAL))
        first = first + colouring.stuck


def _tightened(work: Work, graph: Interference, colouring: Colouring) -> Colouring:
    """The colouring with the fewest registers that a search between what is alive at once and what was used
    finds. Under a lower limit the graph is taken apart in another order, which often does better than the
    order that no limit asks for."""
    low, best = max(MIN_REGISTERS, graph.pressure), colouring
    high = colouring.used
    while low < high:
        limit = (low + high) // 2
        attempt = Colourer(graph, limit, []).run()
        if attempt.failed or attempt.stuck:
            low = limit + 1
        else:
            best, high = attempt, attempt.used
    return best


def _too_many(work: Work, base: int) -> str:
    """Which instruction needs more registers at once than there are, and how many."""
    most, worst = 0, None
    width = work.kernel.groups[base]
    for block in work.kernel.blocks:
        for instr in block.instrs:
            words = set(instr.registers_read())
            written = instr.registers_written()
            if (words | set(written)) & set(range(base, base + width)):
                need = max(len(words), len(written))
                if need > most:
                    most, worst = need, instr
    what = "an instruction" if worst is None else f"{worst.op.name} at line {worst.line}"
    return (
        f"{work.kernel.ptx_path or work.kernel.name}: kernel {work.kernel.name}: {what} needs {most} "
        f"registers at once, with what surrounds it more than the {work.max_registers} that max_registers "
        f"allows; raise max_registers"
    )


def _finish(work: Work, graph: Interference, colouring: Colouring) -> None:
    """Write the places into the code."""
    kernel = work.kernel
    words = {}
    for base, width in graph.widths.items():
        for i in range(width):
            words[base + i + VIRTUAL] = colouring.places[base] + i
    highest = -1
    for block in kernel.blocks:
        for instr in block.instrs:
            instr.dst = _placed(instr.dst, words)
            instr.srcs = tuple(_placed(s, words) if isinstance(s, Reg) else s for s in instr.srcs)  # type: ignore[misc]
            highest = max([highest, *_used(instr)])
    _drop_moves(work)
    kernel.groups = {}
    kernel.registers = work.report.registers = highest + 1
    work.report.origins = work.origins


def _placed(operand: Reg | None, words: dict[int, int]) -> Reg | None:
    if operand is None or operand.index == RZ:
        return operand
    return Reg(words[operand.index], operand.width)


def _used(instr: Instr) -> list[int]:
    return instr.registers_read() + instr.registers_written()
