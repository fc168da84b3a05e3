"""Examples that the papers print, as small programs in machine code, and pictures of the machine at them.

A program has the registers, the order and the values of its figure; our compiler passes make its hints. Where
a paper prints no program, the example is ours and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from warpbank.arch.config import config_hash, preset, with_overrides
from warpbank.arch.errors import ArgumentError
from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme, parse_scheme
from warpbank.program import emulator
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Block, Cmp, DType, Imm, Instr, Kernel, Op, Pred, Reg
from warpbank.program.isa.modifiers import Sreg
from warpbank.program.launch import Job, Launch
from warpbank.program.runner import tool_versions
from warpbank.program.trace.schema import Trace
from warpbank.sim.view import machine
from warpbank.sim.view.recording import Recording, record_trace
from warpbank.studies.reproduce.snippet import SNIPPET

#: NOPs behind a program, so that its last results leave a window as they would in a longer one.
_AFTER = 12


@dataclass(frozen=True)
class Example:
    """Example of a paper.

    Parameters
    ----------
    name : as `warpbank view --example` takes it.
    title : the paper's figure or table.
    text : what there is to see.
    scheme, preset, overrides : register file and machine, where nothing else is asked for.
    source : the program as it is printed; an instruction's `line` is a line of it.
    blocks : the program.
    warps : how many run it.
    """

    name: str
    title: str
    text: str
    scheme: str
    preset: str
    overrides: tuple[str, ...]
    source: str
    blocks: tuple[Block, ...]
    warps: int = 1

    @property
    def kernel(self) -> Kernel:
        """Machine code, with NOPs and an EXIT behind the program."""
        end = [*(Instr(Op.NOP) for _ in range(_AFTER)), Instr(Op.EXIT)]
        blocks = [Block(block.label, list(block.instrs)) for block in self.blocks]
        last = blocks[-1].instrs
        if last and last[-1].op is Op.BRA:
            blocks.append(Block("end", end))
        else:
            last += end
        used = [
            register.index
            for block in blocks
            for instr in block.instrs
            for register in (*instr.srcs, instr.dst)
            if isinstance(register, Reg)
        ]
        predicates = {index for block in blocks for instr in block.instrs for index in instr.pdst}
        return Kernel(
            self.name, blocks, {}, len(predicates), registers=max(used, default=0) + 1, shared_bytes=4096
        )

    def trace(self, config: SmConfig, scheme: Scheme) -> Trace:
        """Trace of the program, with the hints that the scheme asks for."""
        kernel = self.kernel
        launch = Launch(self.name, (1, 1, 1), (32 * self.warps, 1, 1), ())
        job = Job(self.name, "tiny", "", self.name, {"out": np.zeros(1, np.uint32)}, [launch])
        trace = emulator.run_job(job, {self.name: kernel}, trace=True).trace
        assert trace is not None
        return with_hints(trace, scheme.hints, scheme.machine(config), lambda: {self.name: kernel})


def _lined(*instrs: Instr) -> list[Instr]:
    """Instructions that stand on lines of their own, one after the other."""
    return [replace(instr, line=number) for number, instr in enumerate(instrs, 1)]


def _blocks(**parts: list[Instr]) -> tuple[Block, ...]:
    """Blocks by label, their instructions numbered through."""
    numbered = iter(_lined(*(instr for part in parts.values() for instr in part)))
    return tuple(Block(label, [next(numbered) for _ in part]) for label, part in parts.items())


def _mov(register: int, value: int) -> Instr:
    return Instr(Op.MOV, dst=Reg(register), srcs=(Imm(value),))


def _add(register: int, a: int, b: int | Imm, guard: Pred | None = None) -> Instr:
    other = b if isinstance(b, Imm) else Reg(b)
    return Instr(Op.IADD, dst=Reg(register), srcs=(Reg(a), other), guard=guard)


def _mul(register: int, a: int, b: int | Imm, guard: Pred | None = None) -> Instr:
    other = b if isinstance(b, Imm) else Reg(b)
    return Instr(Op.IMUL, dst=Reg(register), srcs=(Reg(a), other), guard=guard)


def _less(predicate: int, register: int, value: int) -> Instr:
    return Instr(Op.ISETP, DType.S32, srcs=(Reg(register), Imm(value)), pdst=(predicate,), cmp=Cmp.LT)


def _lane(register: int) -> Instr:
    return Instr(Op.S2R, dst=Reg(register), aux=int(Sreg.LANEID))


def _branch(target: str, predicate: int | None = None) -> Instr:
    return Instr(Op.BRA, target=target, guard=None if predicate is None else Pred(predicate))


_BOW = Example(
    "bow",
    "BOW, Fig. 6 and Table I",
    "The snippet of BTREE under a window of three uops. A source found in the window costs no bank read. A "
    "result that the compiler calls transient (r0, r2) never reaches the banks; r1 and r3 do, once each, and "
    "so does r4, whose result comes when its entry has left.",
    "bow-wr",
    "pascal",
    ("sub_cores=1", "sub_core.collector.window=3"),
    """ld.global.u32 $r3, [$r8];
mov.u32 $r2, 0x00000ff4;
mul.wide.u16 $r1, $r0.lo, $r2.lo;
mad.wide.u16 $r1, $r0.hi, $r2.lo, $r1;
shl.u32 $r1, $r1, 0x00000010;
mad.wide.u16 $r0, $r0.lo, $r2.lo, $r1;
add.half.u32 $r0, s[0x0018], $r0;
add.half.u32 $r0, $r9, $r0;
add.u32 $r1, $r0, 0x000007f8;
ld.global.u32 $r2, [$r1];
shl.u32 $r2, $r2, 0x00000100;
add.u32 $r4, $r2, 0x0000008f;
set.ne.s32.s32 $p0/$o127, $r3, $r1;""",
    (Block("entry", _lined(*SNIPPET)),),
)
_MALEKEH = Example(
    "malekeh",
    "Malekeh, sections III-C1 and IV-B: the four operations of a caching collector unit",
    "The paper prints no program; this one is ours. Two units serve three warps. A unit keeps what is read "
    "again soon (near), and finds it there. The third warp waits while both units keep such values, at most "
    "8 cycles; the unit that it is given then forgets what it kept for its last warp.",
    "malekeh",
    "turing",
    ("sub_cores=1", "sub_core.collector.sthld=8"),
    """mov.u32 r1, %laneid;
mov.u32 r7, 3;
add.s32 r2, r1, 5;
mul.lo.s32 r3, r1, r2;
add.s32 r4, r3, r1;
mul.lo.s32 r5, r4, r2;
add.s32 r6, r5, r4;
mul.lo.s32 r3, r6, r1;
add.s32 r4, r3, r6;
mul.lo.s32 r5, r4, r3;
add.s32 r6, r5, r7;""",
    (
        Block(
            "entry",
            _lined(
                _lane(1),
                _mov(7, 3),
                _add(2, 1, Imm(5)),
                _mul(3, 1, 2),
                _add(4, 3, 1),
                _mul(5, 4, 2),
                _add(6, 5, 4),
                _mul(3, 6, 1),
                _add(4, 3, 6),
                _mul(5, 4, 3),
                _add(6, 5, 7),
            ),
        ),
    ),
    warps=3,
)
_LTRF = Example(
    "ltrf",
    "LTRF, Fig. 6",
    "Two loops, one in the other: blocks A, B and C. The first pass makes A an interval of its own, since B "
    "has an edge from C; the second joins them, if the registers of the nest fit. Here they do (16): one "
    "PREFETCH before the nest. With --set sub_core.cache.registers=8 they do not, and each entry prefetches.",
    "ltrf",
    "tiny",
    ("sub_core.cache.registers=16",),
    """A: mov.u32 r0, 0;   // the outer loop's counter
   mov.u32 r8, 7;
A: mov.u32 r1, 0;   // the inner loop's counter
   add.s32 r2, r0, 5;
   add.s32 r3, r2, r8;
B: mul.lo.s32 r4, r1, r2;
   add.s32 r5, r4, r3;
C: add.s32 r6, r5, r4;
   add.s32 r7, r6, r5;
   add.s32 r1, r1, 1;
   setp.lt.s32 p0, r1, 2;
   @p0 bra B;
   add.s32 r0, r0, 1;
   setp.lt.s32 p1, r0, 2;
   @p1 bra A;""",
    _blocks(
        entry=[_mov(0, 0), _mov(8, 7)],
        A=[_mov(1, 0), _add(2, 0, Imm(5)), _add(3, 2, 8)],
        B=[_mul(4, 1, 2), _add(5, 4, 3)],
        C=[_add(6, 5, 4), _add(7, 6, 5), _add(1, 1, Imm(1)), _less(0, 1, 2), _branch("B", 0)],
        latch=[_add(0, 0, Imm(1)), _less(1, 0, 2), _branch("A", 1)],
    ),
    warps=2,
)
_GSCALAR = Example(
    "gscalar",
    "G-Scalar, sections 3.1 and 4.2, Fig. 2 and 7b",
    "Eight lanes: the values C04039C0, C04039C8, ..., C04039F8 share three bytes, so that the encoding bits "
    "are 1110 and only the array of the fourth byte is written. r3 is equal in all lanes (1111): one lane "
    "adds it to itself. Then some lanes write r3: a decompress move goes before, and D is set.",
    "gscalar",
    "turing",
    ("sub_cores=1", "lanes=8"),
    """mov.u32 r1, %laneid;
shl.b32 r2, r1, 3;
add.s32 r2, r2, 0xC04039C0;
mov.u32 r3, 21;
add.s32 r4, r3, r3;
add.s32 r5, r2, r4;
setp.lt.s32 p0, r1, 4;
@p0 add.s32 r3, r3, r3;
@p0 add.s32 r6, r3, 1;
add.s32 r7, r3, r2;""",
    (
        Block(
            "entry",
            _lined(
                _lane(1),
                Instr(Op.SHL, dst=Reg(2), srcs=(Reg(1), Imm(3))),
                _add(2, 2, Imm(0xC04039C0)),
                _mov(3, 21),
                _add(4, 3, 3),
                _add(5, 2, 4),
                _less(0, 1, 4),
                _add(3, 3, 3, Pred(0)),
                _add(6, 3, Imm(1), Pred(0)),
                _add(7, 3, 2),
            ),
        ),
    ),
)
_RENAMING = Example(
    "renaming",
    "Register renaming, Fig. 4a, 4b and 7",
    "r0 is given a physical register when it is first written (Fig. 7) and loses it after its last read, "
    "which carries a pir flag (Fig. 4a). r3 is read on both sides of a branch, so that a pbr releases it "
    "where they meet (Fig. 4b). Then r0 is written again, and may have another physical register.",
    "renaming",
    "fermi",
    ("sub_core.banks=4", "sub_core.rows=16", "sub_core.collectors=4"),
    """mov.u32 r1, %laneid;
mov.u32 r0, 5;
mov.u32 r3, 7;
add.s32 r2, r0, r1;
setp.lt.s32 p0, r1, 16;
@p0 bra right;
left: add.s32 r2, r2, r3;
bra meet;
right: mul.lo.s32 r2, r2, r3;
meet: mul.lo.s32 r0, r2, r2;
add.s32 r4, r0, r1;""",
    _blocks(
        entry=[_lane(1), _mov(0, 5), _mov(3, 7), _add(2, 0, 1), _less(0, 1, 16), _branch("right", 0)],
        left=[_add(2, 2, 3), _branch("meet")],
        right=[_mul(2, 2, 3)],
        meet=[_mul(0, 2, 2), _add(4, 0, 1)],
    ),
    warps=2,
)
#: The examples, by name.
EXAMPLES = {example.name: example for example in (_BOW, _MALEKEH, _LTRF, _GSCALAR, _RENAMING)}
#: Most cycles that an example is shown for; all of them are over before.
CYCLES = 600


def find(name: str) -> Example:
    """Example of that name. Raises ArgumentError if there is none."""
    if name not in EXAMPLES:
        raise ArgumentError(unknown("example", name, EXAMPLES))
    return EXAMPLES[name]


def record(
    example: Example,
    scheme: str | None = None,
    preset_name: str | None = None,
    overrides: tuple[str, ...] = (),
    start: int = 0,
    end: int = CYCLES,
) -> tuple[Recording, SmConfig]:
    """Recording of an example, and the machine it ran on.

    Parameters
    ----------
    example : which.
    scheme, preset_name : register file and machine; None: the example's.
    overrides : as after `--set`, behind the example's own.
    start, end : the cycles; `end` not included.

    Raises
    ------
    WarpbankError : no such scheme, machine or cycles.
    """
    own = example.overrides if preset_name is None else ()
    config = with_overrides(preset(preset_name or example.preset), [*own, *overrides])
    chosen = parse_scheme(scheme or example.scheme)
    trace = example.trace(config, chosen)
    return record_trace(trace, config, chosen, start, end), config


def page(example: Example, recording: Recording, config: SmConfig, preset_name: str | None = None) -> str:
    """Page of the machine at an example."""
    timeline = recording.timeline
    made_by = {
        "example": f"{example.name} ({example.title})",
        "scheme": recording.scheme.name,
        "machine": " ".join((preset_name or example.preset, *(() if preset_name else example.overrides))),
        "configuration": config_hash(config),
        "versions": _versions(),
        "cycles": f"{timeline.start} to {timeline.end - 1}",
    }
    return machine.render(
        f"{example.title}: {recording.scheme.name}",
        example.text,
        machine.data(recording, example.source),
        made_by,
    )


@cache
def _versions() -> str:
    return ", ".join(f"{name} {version}" for name, version in tool_versions().items())
