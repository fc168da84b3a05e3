"""Error of a register file that delivers a wrong operand."""

from __future__ import annotations

from typing import ClassVar

from warpbank.arch.errors import WarpbankError


class OperandMismatch(WarpbankError):
    """A wrong operand that the register file under test delivered: a defect of the machine, not of the user.

    Parameters
    ----------
    kernel : name of the kernel.
    cta : number of the CTA in its launch.
    warp : number of the warp in its CTA.
    sub_core, slot : where the warp runs.
    pc : of the uop that reads the operand.
    register, lane : the operand's register, and the first lane that differs.
    expected, found : what program order gives the lane, and what the register file delivered.
    text : the uop as a listing shows it.

    All but `text` are attributes, too.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        kernel: str,
        cta: int,
        warp: int,
        sub_core: int,
        slot: int,
        pc: int,
        register: int,
        lane: int,
        expected: int,
        found: int,
        text: str,
    ) -> None:
        super().__init__(
            f"Operand mismatch in kernel {kernel}, CTA {cta}, warp {warp} (sub-core {sub_core}, slot "
            f"{slot}), pc {pc} ({text.strip()}): register R{register}, lane {lane}: expected "
            f"{expected:#010x}, found {found:#010x}."
        )
        self.kernel, self.cta, self.warp = kernel, cta, warp
        self.sub_core, self.slot, self.pc = sub_core, slot, pc
        self.register, self.lane, self.expected, self.found = register, lane, expected, found
