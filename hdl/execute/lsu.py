"""Load/store unit that the sub-cores share.

It handles one memory uop at a time, and one line or shared-memory pass per cycle.
"""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import L1Result, LsuStall, field_width
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import LINE_WIDTH, SECTORS, WHOLE_LINE
from warpbank.arch.uop import Memory as Op
from warpbank.hdl.execute.l1 import Mshrs, Tags
from warpbank.hdl.execute.memory import Memory, Request
from warpbank.hdl.execute.returns import Returns
from warpbank.hdl.interfaces import AlwaysInterface, lsu_stream, returned_stream
from warpbank.hdl.layouts import COUNT_WIDTH, result_layout
from warpbank.hdl.probe import Events, EventsInterface, emit, gather
from warpbank.hdl.round_robin import chosen, first_from
from warpbank.hdl.typed import Interface, Records, record

LOADS = (Op.LOAD_GLOBAL, Op.LOAD_LOCAL)
STORES = (Op.STORE_GLOBAL, Op.STORE_LOCAL)
ATOMICS = (Op.ATOMIC_GLOBAL, Op.REDUCE_GLOBAL)
SHARED = (Op.LOAD_SHARED, Op.STORE_SHARED, Op.ATOMIC_SHARED)

#: Events of the unit and how many of each may happen in a cycle (`warpbank.hdl.probe`). The memory's are
#: added to them.
EVENT_COUNTS = {"shared_pass": 1, "l1_access": 1, "l1_fill": 1, "lsu_stall": 1, "l2_access": 1}


class Lines(wiring.Signature):
    """Question of the load/store unit to the testbench: the number of a memory line.

    Seen from the unit.

    Members
    -------
    valid : Out(1). Line `index` of uop (`sub_core`, `warp`, `seq`) is looked up, again where the unit had to
        stop.
    sub_core : Out(bits(sub_cores)). Sub-core of the uop. From registers.
    warp : Out(bits(warps)). Warp of the uop. From registers.
    seq : Out(seq). Number of the uop in its warp. From registers.
    index : Out(8). Which of the uop's lines. From registers.
    line : In(57). The answer in the same cycle: byte address / 128. Used for the next state, and in the
        events `l1_access` and `lsu_stall`.
    sectors : In(4). Sectors of 32 bytes of that line that the uop's lanes touch, in the same cycle.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "sub_core": Out(bits(config.sub_cores)),
                "warp": Out(config.sub_core.warp_width),
                "seq": Out(field_width("seq", config)),
                "index": Out(COUNT_WIDTH),
                "line": In(LINE_WIDTH),
                "sectors": In(SECTORS),
            }
        )


class LinesInterface(Interface, Protocol):
    """Interface object of the signature `Lines`."""

    valid: Signal
    sub_core: Signal
    warp: Signal
    seq: Signal
    index: Signal
    line: Signal
    sectors: Signal


class Lsu(wiring.Component):
    """Load/store unit of an SM, with L1 tags and miss-status holding registers.

    A uop is taken from the sub-cores' queues by rotating priority, and holds the unit until its last line was
    looked up or its last shared-memory pass was done. Global and local loads look one line up per cycle: a
    hit has its data `l1.latency` later; a miss asks the L2, or waits with a miss of the same line that is on
    its way. Stores are written through without allocating and are complete when the L2's queue has taken the
    last line. Atomics and reductions are done at the L2 and invalidate the line. Shared memory takes one
    cycle per pass, atomics two; constants, shuffles and fences one cycle. Where an MSHR or the L2's queue is
    full the unit stops at that line. The tags have one port: in a cycle in which a missing line arrives, none
    is looked up and no uop is taken.

    With sectors (`l1.sectors`) a load looks up those of its line that its lanes touch, and a miss asks for
    the missing ones only. Where a request on its way brings some of them and not all, the unit looks the
    others up in the cycles that follow.

    Each uop in flight has a slot. How many answers each still needs is kept in bit-sliced counters, one bit
    of all of them per register: a line that arrives counts for all who waited for it at once.

    Parameters
    ----------
    config : sizes and latencies.
    probe : report events.

    Members
    -------
    uops : In(lsu_stream) per sub-core. Heads of the sub-cores' queues; `ready` takes one, a function of
        registers.
    returned : Out(returned_stream) per sub-core. A complete uop, one of all sub-cores per cycle; a function
        of registers.
    lines : Out(Lines). Question to the testbench: the number of a memory line.
    launch : In(1). A kernel launch begins: the L1 is invalidated.
    idle : Out(1). No uop is in flight.
    events : Out(Events), if `probe`. Accesses, fills, passes and stalls.

    Latency: a uop at the head of a queue is taken in the same cycle at the earliest; one returned in t is
    offered to the banks in t + 1.

    Raises
    ------
    TypeError : `config` is no SmConfig.
    """

    uops: list[stream.Interface]
    returned: list[AlwaysInterface]
    lines: LinesInterface
    launch: Signal
    idle: Signal
    events: EventsInterface

    def __init__(self, config: SmConfig, *, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Lsu needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        self._probe = probe
        members: dict[str, wiring.Member] = {
            "uops": In(lsu_stream(config)).array(config.sub_cores),
            "returned": Out(returned_stream(config)).array(config.sub_cores),
            "lines": Out(Lines(config)),
            "launch": In(1),
            "idle": Out(1),
        }
        if probe:
            members["events"] = Out(Events(config, EVENT_COUNTS))
        super().__init__(members)
        lsu, l1 = config.lsu, config.l1
        self._latencies = sorted({1, lsu.const_latency, lsu.shuffle_latency, lsu.shared_latency})
        longest = max(*self._latencies, l1.latency) + 2 * (2**COUNT_WIDTH - 1)
        self._time_width = bits(longest + lsu.pending + 2) + 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        slots = config.lsu.pending
        sectors = config.l1.sectors
        m.submodules.tags = tags = Tags(config.l1.sets, config.l1.ways, sectors, clearable=True)
        m.submodules.mshrs = mshrs = Mshrs(config.l1.mshrs, config.l1.merges, slots, sectors)
        m.submodules.memory = below = Memory(config, probe=self._probe)
        m.submodules.returns = returns = Returns(
            slots, config.l1.merges, self._latencies, self._time_width, hits=config.l1.latency > 1
        )
        now = Signal(self._time_width)
        m.d.sync += now.eq(now + 1)

        fills = Signal()  # the tags are taken by a line that arrives
        m.d.comb += fills.eq(below.answer & below.fill)

        # Which uop: the one that holds the unit, or the head of a queue.
        held = Signal()
        held_uop = record(
            data.StructLayout({"sub_core": bits(config.sub_cores), "uop": self.uops[0].payload.shape()})
        )
        held_slot = Signal(range(slots))
        index = Signal(COUNT_WIDTH)
        passes_left = Signal(COUNT_WIDTH + 1)
        free = Signal(slots, init=2**slots - 1)
        pointer = Signal(range(config.sub_cores))
        offers = Signal(config.sub_cores)
        m.d.comb += offers.eq(Cat(queue.valid for queue in self.uops))
        choice = first_from(m, offers, pointer, "offer")
        place = chosen(m, free, "free")
        active, want, take, go = Signal(), Signal(), Signal(), Signal()
        full = Signal()  # `pending` uops are in flight
        m.d.comb += [
            full.eq(free == 0),
            active.eq((passes_left == 0) & ~fills),
            want.eq(active & ~held & offers.any()),
            take.eq(want & ~full),
            go.eq(active & (held | take)),
            self.idle.eq(free.all()),
        ]
        current = Signal.like(held_uop)
        slot = Signal(range(slots))
        line_index = Signal(COUNT_WIDTH)
        with m.If(held):
            m.d.comb += [current.eq(held_uop), slot.eq(held_slot), line_index.eq(index)]
        with m.Else():
            heads = Array(queue.payload for queue in self.uops)
            m.d.comb += [
                current.sub_core.eq(choice.index),
                current.uop.eq(heads[choice.index]),
                slot.eq(place.index),
            ]
        with m.If(take):
            m.d.sync += [held_uop.eq(current), held_slot.eq(slot), pointer.eq(choice.after)]
        m.d.comb += [queue.ready.eq(take & choice.one_hot[number]) for number, queue in enumerate(self.uops)]
        own = Signal(slots)
        m.d.comb += own.eq(1 << slot)

        # What it does in this cycle.
        op = current.uop.memory
        is_load, is_store, is_shared, is_fence = Signal(), Signal(), Signal(), Signal()
        is_atomic, is_reduce = Signal(), Signal()
        for signal, kinds in (
            (is_load, LOADS),
            (is_store, STORES),
            (is_shared, SHARED),
            (is_fence, (Op.FENCE,)),
            (is_atomic, (Op.ATOMIC_GLOBAL,)),
            (is_reduce, (Op.REDUCE_GLOBAL,)),
        ):
            m.d.comb += signal.eq(Cat(op == kind for kind in kinds).any())
        touches = Signal()  # a memory line
        m.d.comb += touches.eq(is_load | is_store | is_atomic | is_reduce)
        left = Signal(sectors)  # sectors of the line that are still to be looked up, if some have been
        wanted = Signal(sectors)
        m.d.comb += wanted.eq(Mux(left.any(), left, self.lines.sectors) if sectors > 1 else 1)
        m.d.comb += [
            self.lines.valid.eq(go & touches),
            self.lines.sub_core.eq(current.sub_core),
            self.lines.warp.eq(current.uop.result.warp),
            self.lines.seq.eq(current.uop.result.seq),
            self.lines.index.eq(line_index),
            tags.line.eq(Mux(fills, mshrs.fill_line, self.lines.line)),
            tags.sectors.eq(Mux(fills, mshrs.fill_sectors, wanted)),
            mshrs.line.eq(self.lines.line),
            mshrs.sectors.eq(tags.missing),
            below.line.eq(self.lines.line),
            below.sectors.eq(Mux(is_load, mshrs.asks if sectors > 1 else WHOLE_LINE, self.lines.sectors)),
            tags.clear.eq(self.launch),
        ]
        hit, merge, miss = Signal(), Signal(), Signal()
        no_mshr, no_queue = Signal(), Signal()
        send = Signal()  # store, atomic, reduction
        m.d.comb += [
            hit.eq(go & is_load & tags.hit),
            merge.eq(go & is_load & ~tags.hit & mshrs.pending & mshrs.can_merge),
            miss.eq(go & is_load & ~tags.hit & ~mshrs.pending & ~mshrs.full & below.accepts),
            no_mshr.eq(go & is_load & ~tags.hit & Mux(mshrs.pending, ~mshrs.can_merge, mshrs.full)),
            send.eq(go & (is_store | is_atomic | is_reduce) & below.accepts),
            no_queue.eq(
                go
                & ~below.accepts
                & (
                    is_store
                    | is_atomic
                    | is_reduce
                    | is_fence
                    | (is_load & ~tags.hit & ~mshrs.pending & ~mshrs.full)
                )
            ),
            tags.touch.eq(hit),
            tags.remove.eq(send & ~is_store),
            tags.insert.eq(fills),
            mshrs.wait.eq(merge | miss),
            mshrs.slot.eq(slot),
            below.request.eq(miss | send | (go & is_fence & below.accepts)),
            below.id.eq(Mux(is_load, mshrs.entry, slot)),
        ]
        requests = (
            (is_store, Request.WRITE),
            (is_atomic, Request.ATOMIC),
            (is_reduce, Request.REDUCE),
            (is_fence, Request.FENCE),
        )
        for signal, kind in requests:  # otherwise READ
            with m.If(signal):
                m.d.comb += below.kind.eq(kind)
        looked_up, line_done, done = Signal(), Signal(), Signal()
        m.d.comb += [
            looked_up.eq(hit | merge | miss | send),
            line_done.eq(looked_up & ~((merge | miss) & mshrs.left.any())),
            done.eq(
                Mux(
                    touches,
                    line_done & (line_index + 1 == current.uop.lines),
                    go & (~is_fence | below.accepts),
                )
            ),
        ]
        m.d.sync += [held.eq((held | take) & ~done), index.eq(line_index + line_done)]
        with m.If(looked_up):
            m.d.sync += left.eq(Mux(merge | miss, mshrs.left, 0))

        passes = Signal(COUNT_WIDTH + 1)
        with m.If(is_shared):
            m.d.comb += passes.eq(
                Mux(current.uop.passes == 0, 1, current.uop.passes) << (op == Op.ATOMIC_SHARED)
            )
        with m.Else():
            m.d.comb += passes.eq(1)
        with m.If(passes_left != 0):
            m.d.sync += passes_left.eq(passes_left - 1)
        with m.Elif(done):
            m.d.sync += passes_left.eq(passes - 1)

        # Answers: who got one, and who needs no more.
        answered, complete = Signal(slots), Signal(slots)
        listed = Signal(config.l1.merges)
        waiters: Value = Const(0)
        for number in range(config.l1.merges):
            m.d.comb += listed[number].eq(below.fill & (number < mshrs.waiting))
            waiters = waiters | Mux(listed[number], 1 << mshrs.waiters[number], 0)
        with m.If(below.answer):
            m.d.comb += answered.eq(Mux(below.fill, waiters, 1 << below.id_answered))
        m.d.comb += [
            mshrs.fill.eq(fills),
            mshrs.fill_entry.eq(below.id_answered),
            returns.answers.eq(mshrs.waiters),
        ]
        with m.If(~below.fill):
            m.d.comb += returns.answers[0].eq(below.id_answered)
        for number in range(config.l1.merges):
            awaited = listed[number] if number else listed[number] | ~below.fill
            m.d.comb += returns.answered[number].eq(awaited & complete.bit_select(returns.answers[number], 1))

        asks = Signal(slots)
        m.d.comb += asks.eq(Mux(merge | miss | (send & is_atomic) | (go & is_fence & below.accepts), own, 0))
        none_left = self._count(m, answered, asks)
        m.d.comb += complete.eq(answered & none_left & ~Mux(held | take, own, 0))
        self._finish(
            m, returns, now, take, done, current.uop.memory, hit, passes, (none_left & own).any(), slot
        )

        # One uop returns.
        store: Records = memory.Memory(
            shape=data.StructLayout({"sub_core": bits(config.sub_cores), "result": result_layout(config)}),
            depth=max(2, slots),
            init=[],
        )
        m.submodules.uops = store
        write, read = store.write_port(), store.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(slot),
            write.en.eq(take),
            write.data.sub_core.eq(current.sub_core),
            write.data.result.eq(current.uop.result),
            read.addr.eq(returns.slot),
            returns.now.eq(now),
            returns.accept.eq(take),
            returns.accept_slot.eq(slot),
        ]
        for number, taker in enumerate(self.returned):
            m.d.comb += [
                taker.payload.eq(read.data.result),
                taker.valid.eq(returns.valid & (read.data.sub_core == number)),
            ]
        m.d.sync += free.eq((free & ~Mux(take, place.one_hot, 0)) | Mux(returns.valid, 1 << returns.slot, 0))

        if self._probe:
            of_load = Mux(hit, L1Result.HIT, Mux(merge, L1Result.MERGE, L1Result.MISS))
            result = Mux(is_load, of_load, Mux(is_store, L1Result.STORE, L1Result.ATOMIC))
            emit(
                m,
                self.events.lsu_stall[0],
                no_mshr | no_queue | (want & full),
                cause=Mux(no_mshr, LsuStall.MSHR, Mux(no_queue, LsuStall.QUEUE, LsuStall.PENDING)),
            )
            emit(m, self.events.l1_access[0], looked_up, line=self.lines.line, result=result)
            emit(m, self.events.l1_fill[0], fills, line=mshrs.fill_line)
            emit(m, self.events.shared_pass[0], go & is_shared, passes=passes)
            gather(m, self.events, [below.events])
        return m

    def _count(self, m: Module, less: Signal, more: Signal) -> Signal:
        """Count the answers due per slot, bit-sliced: those of `less` go down by one, those of `more` up.
        Returns which slots then have none due."""
        count = [Signal(len(less), name=f"answers_due{place}") for place in range(COUNT_WIDTH)]
        some: Value = Const(0)
        borrow: Value = less
        carry: Value = more
        for place, bit in enumerate(count):
            lower = Signal(len(less), name=f"lowered{place}")
            borrowed = Signal(len(less), name=f"borrow{place}")
            raised = Signal(len(less), name=f"raised{place}")
            carried = Signal(len(less), name=f"carry{place}")
            m.d.comb += [
                lower.eq(bit ^ borrow),
                borrowed.eq(borrow & ~bit),
                raised.eq(lower ^ carry),
                carried.eq(lower & carry),
            ]
            m.d.sync += bit.eq(raised)
            some = some | raised
            borrow, carry = borrowed, carried
        none = Signal(len(less))
        m.d.comb += none.eq(~some)
        return none

    def _finish(
        self,
        m: Module,
        returns: Returns,
        now: Signal,
        take: Signal,
        done: Signal,
        op: Value,
        hit: Signal,
        passes: Signal,
        complete: Value,
        slot: Signal,
    ) -> None:
        """Tell `returns` when a uop that leaves the unit is due."""
        lsu, l1 = self._config.lsu, self._config.l1
        still = Signal(range(l1.latency + 1))  # cycles until the data of the hits so far is there
        still_now = Signal(range(l1.latency + 1))
        waits = Signal()  # for hits
        with m.If(hit):
            m.d.comb += still_now.eq(l1.latency)
        with m.Elif(~take):
            m.d.comb += still_now.eq(still)
        with m.If(still_now != 0):
            m.d.sync += still.eq(still_now - 1)
        with m.Else():
            m.d.sync += still.eq(0)
        latency = Signal(range(max(self._latencies) + 1), init=1)
        with m.Switch(op):
            with m.Case(Op.LOAD_SHARED, Op.ATOMIC_SHARED):
                m.d.comb += latency.eq(lsu.shared_latency)
            with m.Case(Op.LOAD_CONST):
                m.d.comb += latency.eq(lsu.const_latency)
            with m.Case(Op.NONE, Op.SHUFFLE):
                m.d.comb += latency.eq(lsu.shuffle_latency)
        is_load = Cat(op == kind for kind in LOADS).any()
        m.d.comb += [
            waits.eq(is_load & (still_now > 1)),
            returns.finish.eq(done),
            returns.finish_slot.eq(slot),
            returns.finish_hits.eq(waits),
            returns.finish_complete.eq(complete),
            returns.finish_fifo.eq(Cat(complete & ~waits & (latency == due) for due in self._latencies)),
            returns.finish_due.eq(now + Mux(waits, still_now, passes - 1 + latency)),
        ]
