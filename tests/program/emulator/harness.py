"""Runs a few machine instructions on arrays of operands, a lane per element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from warpbank.program.emulator import Execution, run_job
from warpbank.program.isa import (
    CONST_PARAMETERS,
    Block,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Parameter,
    Pred,
    Reg,
    Sreg,
)
from warpbank.program.launch import Job, Launch

Body = Callable[[Kernel, list[Reg]], tuple[list[Instr], Sequence[Reg | Pred]]]

PARAMETERS = CONST_PARAMETERS


def kernel(blocks: list[Block], parameters: int = 1, **fields: object) -> Kernel:
    """A kernel on real registers whose parameters are 64-bit pointers."""
    made = [Parameter(f"p{i}", PARAMETERS + 8 * i, 8, "u64") for i in range(parameters)]
    registers = max(
        [r for b in blocks for i in b.instrs for r in i.registers_read() + i.registers_written() if r < 255],
        default=0,
    )
    return Kernel("k", blocks, {}, 0, registers=registers + 1, parameters=made, **fields)  # type: ignore[arg-type]


def run(
    code: Kernel,
    buffers: dict[str, np.ndarray],
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    trace: bool = False,
    max_instructions: int = 10_000_000,
    dynamic_shared: int = 0,
    launches: int = 1,
) -> Execution:
    """Launch a kernel whose arguments are the buffers, in order."""
    args = tuple(buffers)[: len(code.parameters)]
    job = Job(
        "test",
        "tiny",
        "",
        "test.ptx",
        buffers,
        [Launch(code.name, grid, block, args, dynamic_shared)] * launches,
    )
    return run_job(job, {code.name: code}, trace=trace, max_instructions=max_instructions)


def lanes(body: Body, *inputs: np.ndarray) -> list[np.ndarray]:
    """Results of the body's instructions for every element of the inputs (u4 or u8 arrays of one length).

    `body(kernel, registers)` is given a register or pair per input and returns its instructions and what to
    keep of them: registers, pairs, and predicates (as 0 and 1). The code runs on virtual registers.
    """
    count = len(inputs[0])
    block = Block("entry")
    code = Kernel("lanes", [block], {}, 0)
    index, cta, address = code.new_register(), code.new_register(), code.new_register(2)
    out_of_range = code.new_predicate()
    block.instrs += [
        Instr(Op.S2R, dst=index, aux=Sreg.TID_X),
        Instr(Op.S2R, dst=cta, aux=Sreg.CTAID_X),
        Instr(Op.IMAD, dst=index, srcs=(cta, Imm(128), index)),
        Instr(Op.ISETP, srcs=(index, Imm(count)), cmp=5, pdst=(out_of_range,)),  # type: ignore[arg-type]
        Instr(Op.EXIT, guard=Pred(out_of_range)),
    ]
    main = Block("main")
    code.blocks.append(main)
    buffers: dict[str, np.ndarray] = {}

    def place(name: str, array: np.ndarray) -> list[Instr]:
        offset = PARAMETERS + 8 * len(buffers)
        buffers[name] = array
        code.parameters.append(Parameter(name, offset, 8, "u64"))
        return [Instr(Op.IMADW, DType.U32, dst=address, srcs=(index, Imm(array.itemsize), Const(offset, 2)))]

    registers = []
    for i, array in enumerate(inputs):
        register = code.new_register(array.itemsize // 4)
        registers.append(register)
        main.instrs += place(f"in{i}", array)
        main.instrs.append(Instr(Op.LD, dst=register, srcs=(address,), size=array.itemsize))
    instrs, kept = body(code, registers)
    main.instrs += instrs
    names = []
    for i, result in enumerate(kept):
        if isinstance(result, Pred):
            register = code.new_register()
            main.instrs.append(Instr(Op.SEL, dst=register, srcs=(Imm(1), Imm(0)), psrc=(result,)))
        else:
            register = result
        size = 4 * register.width
        names.append(f"out{i}")
        main.instrs += place(f"out{i}", np.zeros(count, f"u{size}"))
        main.instrs.append(Instr(Op.ST, srcs=(address, register), size=size))
    main.instrs.append(Instr(Op.EXIT))
    job = Job(
        "lanes",
        "tiny",
        "",
        "lanes.ptx",
        buffers,
        [Launch("lanes", (-(-count // 128), 1, 1), (128, 1, 1), tuple(buffers))],
    )
    found = run_job(job, {"lanes": code}).buffers
    return [found[name] for name in names]


def one(op: Op, *inputs: np.ndarray, width: int = 1, **fields: object) -> np.ndarray:
    """Result register of one instruction whose sources are the inputs."""

    def body(code: Kernel, registers: list[Reg]) -> tuple[list[Instr], list[Reg | Pred]]:
        d = code.new_register(width)
        return [Instr(op, dst=d, srcs=tuple(registers), **fields)], [d]  # type: ignore[arg-type]

    return lanes(body, *inputs)[0]


def u32(values: Sequence[int]) -> np.ndarray:
    return np.array([v & 0xFFFFFFFF for v in values], np.uint32)


def u64(values: Sequence[int]) -> np.ndarray:
    return np.array([v & (2**64 - 1) for v in values], np.uint64)
