"""Return order of complete memory uops: golden's heap, as FIFOs whose heads are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, memory, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.typed import Numbers, Record, record

#: Bits of the number of acceptance: no uop is in flight while 2^31 others are accepted.
ORDER_WIDTH = 32

#: The head of a FIFO: there is one, when it is due, its slot, and the signal that takes it.
Head: TypeAlias = tuple[Value, Value, Value, Signal]


class Returns(wiring.Component):
    """Return queue of the load/store unit: one uop per cycle, the one due first.

    Of several that are due at a time the one accepted first returns.

    What is due a fixed time after the unit let go of it comes in the order in which it is due: one FIFO per
    latency. Uops completed by an answer from memory are due in the next cycle, up to `merges` of them at
    once: a FIFO of groups, each in the order of acceptance. A load that hit some lines and missed others is
    due when both are there: it waits for its hits in the `delay` FIFO, and whoever comes last, the hit or the
    answer, passes it on. So the one to return is the best of a few heads.

    Parameters
    ----------
    slots : uops in flight.
    merges : uops that one answer may complete.
    latencies : distinct latencies of what needs no answer, in the order of `finish_fifo`.
    hits : loads that wait for hits are told by `finish_hits`; where the L1 answers in one cycle there are
        none.
    time_width : bits of times, which are compared modulo: enough for the largest latency and `slots` more
        cycles.

    Members
    -------
    now : In(time_width). Number of this cycle.
    accept : In(1). A uop gets `accept_slot`.
    accept_slot : In(bits(slots)). Slot of the uop that is accepted.
    finish : In(1). The unit lets go of the uop of `finish_slot`.
    finish_slot : In(bits(slots)). Slot of that uop.
    finish_due : In(time_width). Cycle in which that uop is due, later than `now`; at least `now` + 2 if it
        waits for hits.
    finish_fifo : In(latencies). That uop is complete, and this was its latency: a bit per latency.
    finish_hits : In(1). That uop waits for hits until `finish_due`.
    finish_complete : In(1). That uop waits for no answer besides.
    answers : In(slot per merge). Slots that are answered.
    answered : In(merges). Which of `answers` got their last answer in this cycle.
    valid : Out(1). The uop of `slot` returns in this cycle.
    slot : Out(bits(slots)). Slot of the uop that returns.

    Latency: what is due in t returns in t at the earliest, and must be announced before.
    """

    now: Signal
    accept: Signal
    accept_slot: Signal
    finish: Signal
    finish_slot: Signal
    finish_due: Signal
    finish_fifo: Signal
    finish_hits: Signal
    finish_complete: Signal
    answers: Record
    answered: Signal
    valid: Signal
    slot: Signal

    def __init__(
        self, slots: int, merges: int, latencies: Sequence[int], time_width: int, *, hits: bool
    ) -> None:
        self._slots = slots
        self._merges = merges
        self._fifos = len(latencies)
        self._hits = hits
        self._time_width = time_width
        self._entry = data.StructLayout({"due": time_width, "slot": bits(slots)})
        self._group = data.StructLayout(
            {"due": time_width, "slots": data.ArrayLayout(bits(slots), merges), "valid": merges}
        )
        slot = bits(slots)
        super().__init__(
            {
                "now": In(time_width),
                "accept": In(1),
                "accept_slot": In(slot),
                "finish": In(1),
                "finish_slot": In(slot),
                "finish_due": In(time_width),
                "finish_fifo": In(len(latencies)),
                "finish_hits": In(1),
                "finish_complete": In(1),
                "answers": In(data.ArrayLayout(slot, merges)),
                "answered": In(merges),
                "valid": Out(1),
                "slot": Out(slot),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        orders: Numbers = memory.Memory(shape=ORDER_WIDTH, depth=max(2, self._slots), init=[])
        m.submodules.orders = orders
        accepted = Signal(ORDER_WIDTH)
        write = orders.write_port()
        m.d.comb += [write.addr.eq(self.accept_slot), write.data.eq(accepted), write.en.eq(self.accept)]
        m.d.sync += accepted.eq(accepted + self.accept)

        finished = record(self._entry)
        m.d.comb += [finished.due.eq(self.finish_due), finished.slot.eq(self.finish_slot)]
        heads: list[Head] = []  # (there, due, slot, taken)
        for number in range(self._fifos):
            heads.append(self._fifo(m, f"latency{number}", finished, self.finish & self.finish_fifo[number]))
        together = self.answered
        if self._hits:
            head, together = self._delay(m, finished)
            heads.append(head)
        heads.append(self._groups(m, together))

        best_late, best_order = Signal(self._time_width), Signal(ORDER_WIDTH)
        better: list[tuple[Signal, Signal]] = []
        for number, (there, due, slot, _) in enumerate(heads):
            read = orders.read_port(domain="comb")
            late = Signal(self._time_width, name=f"late{number}")
            candidate = Signal(name=f"candidate{number}")
            older = Signal(ORDER_WIDTH, name=f"older{number}")
            first = Signal(name=f"first{number}")
            m.d.comb += [
                read.addr.eq(slot),
                late.eq(self.now - due),
                candidate.eq(there & ~late[-1]),
                older.eq(read.data - best_order),
            ]
            if number:
                m.d.comb += first.eq(
                    candidate & (~better[-1][1] | (late > best_late) | ((late == best_late) & older[-1]))
                )
            else:
                m.d.comb += first.eq(candidate)
            best = (Mux(first, late, best_late), Mux(first, read.data, best_order))
            best_late, best_order = Signal(self._time_width), Signal(ORDER_WIDTH)
            found = Signal(name=f"found{number}")
            m.d.comb += [
                best_late.eq(best[0]),
                best_order.eq(best[1]),
                found.eq(candidate | (better[-1][1] if better else 0)),
            ]
            better.append((first, found))
        for number, (_, _, slot, taken) in enumerate(heads):
            with m.If(better[number][0]):
                m.d.comb += self.slot.eq(slot)
            m.d.comb += taken.eq(better[number][0] & ~Cat(first for first, _ in better[number + 1 :]).any())
        m.d.comb += self.valid.eq(better[-1][1])
        return m

    def _fifo(self, m: Module, name: str, entry: Record, push: Value) -> Head:
        queue = fifo.SyncFIFO(width=self._entry.size, depth=self._slots)
        m.submodules[name] = queue
        head = record(self._entry, name=f"{name}_head")
        m.d.comb += [queue.w_data.eq(entry), queue.w_en.eq(push), head.eq(queue.r_data)]
        return queue.r_rdy, head.due, head.slot, queue.r_en

    def _delay(self, m: Module, finished: Record) -> tuple[Head, Signal]:
        """Loads that wait for hits. Also returns which of the answered uops need not wait for them."""
        there, due, slot, pop = self._fifo(m, "delay", finished, self.finish & self.finish_hits)
        delayed, complete = Signal(self._slots), Signal(self._slots)
        ripe = record(self._entry)
        m.d.comb += [
            pop.eq(there & (due == (self.now + 1)[: self._time_width])),
            ripe.due.eq(due),
            ripe.slot.eq(slot),
        ]
        head = self._fifo(m, "hits", ripe, pop & complete.bit_select(slot, 1))
        leaving = Mux(pop, 1 << slot, 0)
        coming = Mux(self.finish & self.finish_hits, 1 << self.finish_slot, 0)
        later = Signal(self._merges)  # answered, but the hits are not there yet
        there_now = Signal(self._merges)
        settled: Value = Const(0)
        waits = Signal(self._slots)
        m.d.comb += waits.eq(delayed & ~leaving)
        for place in range(self._merges):
            m.d.comb += later[place].eq(self.answered[place] & waits.bit_select(self.answers[place], 1))
            settled = settled | Mux(later[place], 1 << self.answers[place], 0)
        m.d.comb += there_now.eq(self.answered & ~later)
        m.d.sync += [
            delayed.eq((delayed & ~leaving) | coming),
            complete.eq(((complete | settled) & ~coming) | Mux(self.finish_complete, coming, 0)),
        ]
        return head, there_now

    def _groups(self, m: Module, together: Value) -> Head:
        """Uops that one answer completes: due in the next cycle, returned one after the other."""
        queue = fifo.SyncFIFO(width=self._group.size, depth=self._slots)
        m.submodules.groups = queue
        entry, head = record(self._group), record(self._group)
        gone, left, first = Signal(self._merges), Signal(self._merges), Signal(self._merges)
        slot = Signal(bits(self._slots))
        taken = Signal()
        m.d.comb += [
            entry.due.eq(self.now + 1),
            entry.slots.eq(self.answers),
            entry.valid.eq(together),
            queue.w_data.eq(entry),
            queue.w_en.eq(together.any()),
            head.eq(queue.r_data),
            left.eq(head.valid & ~gone),
            first.eq(left & (~left + 1)),
            queue.r_en.eq(taken & (left == first)),
        ]
        for place in reversed(range(self._merges)):
            with m.If(left[place]):
                m.d.comb += slot.eq(head.slots[place])
        with m.If(queue.r_en):
            m.d.sync += gone.eq(0)
        with m.Elif(taken):
            m.d.sync += gone.eq(gone | first)
        return queue.r_rdy, head.due, slot, taken
