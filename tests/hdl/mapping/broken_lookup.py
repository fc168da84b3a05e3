"""Mutants of the look-up of operands' names, for its lockstep and its proofs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Array, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.hdl.mapping.operand_lookup import OperandLookup


class _Queue(wiring.Component):
    """Queue with the ports of a FIFO."""

    w_data: Signal
    w_en: Signal
    r_data: Signal
    r_en: Signal
    r_rdy: Signal

    def __init__(self, *, width: int, depth: int) -> None:
        self.depth = depth
        super().__init__(
            {"w_data": In(width), "w_en": In(1), "r_data": Out(width), "r_en": In(1), "r_rdy": Out(1)}
        )


class _Stack(_Queue):
    """The newest goes first."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = Array(Signal.like(self.w_data, name=f"row_{row}") for row in range(self.depth + 1))
        length = Signal(range(self.depth + 2))
        top = Signal.like(length)
        m.d.comb += [self.r_rdy.eq(length != 0), self.r_data.eq(rows[length - 1]), top.eq(length - self.r_en)]
        with m.If(self.w_en):
            m.d.sync += rows[top].eq(self.w_data)
        m.d.sync += length.eq(top + self.w_en)
        return m


class _Sieve(_Queue):
    """What is put in is lost."""

    def elaborate(self, platform: object) -> Module:
        return Module()


class YoungerFirst(OperandLookup):
    """A bank looks up the youngest of the uops that wait behind its first one."""

    fifo_class = _Stack


class LostRequest(OperandLookup):
    """A bank forgets who waits behind its first uop."""

    fifo_class = _Sieve


class AnyOrder(OperandLookup):
    """Of the uops whose names are known, that of the lowest collector goes."""

    @staticmethod
    def oldest(mask: Any, older: Any) -> Any:
        return mask & -mask


class WrongBank(OperandLookup):
    """The names of one bank of the table are taken from another one."""

    def _bank(self, m: Module, number: int, *rest: Any) -> Any:
        bank = super()._bank(m, number, *rest)
        if number == 0:
            self._zero = bank
        return replace(bank, answer=self._zero.answer) if number == 3 else bank


class EarlyName(OperandLookup):
    """A uop does not wait for the last bank of the table."""

    def _bank(self, m: Module, number: int, *rest: Any) -> Any:
        bank = super()._bank(m, number, *rest)
        return replace(bank, owed=Const(0, len(bank.ends))) if number == 3 else bank


class StaleRegister(OperandLookup):
    """A source that its uop was given a register for is read from there."""

    def _answer(self, bank: Any, unwritten: Any) -> Any:
        return bank.answer


#: Mutants that any table tells, and one that takes registers entered while uops wait.
MUTANTS = [YoungerFirst, LostRequest, AnyOrder, WrongBank, EarlyName]
ENTERED_MUTANTS = [StaleRegister]


class NoStageBefore(OperandLookup):
    """A uop is looked up in the cycle in which it asks."""

    def _asked(self, m: Module, layout: Any) -> Any:
        return self.read.valid, self.read.payload


class NoStageBehind(OperandLookup):
    """Names go to the banks in the cycle in which they are found."""

    def _named(self, m: Module) -> Any:
        return self.named


class StaleNames(OperandLookup):
    """The stage behind the look-up is always full."""

    def _named(self, m: Module) -> Any:
        found = super()._named(m)
        with m.If(~found.valid):
            m.d.comb += self.named.valid.eq(1)
        return found


class Unanswered(OperandLookup):
    """A uop goes to the banks without the last answers of the table."""

    def _complete(self, *_: Any) -> None:
        """Take nothing."""


class AnswersAtOnce(OperandLookup):
    """An answer of the table is taken for the slot that the table is asked for meanwhile."""

    def _later(self, m: Module, bank: Any, number: int) -> Any:
        return bank.served, bank.slot


#: Mutants of a look-up with two stages.
STAGE_MUTANTS = [NoStageBefore, NoStageBehind, StaleNames, Unanswered, AnswersAtOnce]
