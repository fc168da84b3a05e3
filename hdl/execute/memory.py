"""Memory behind the L1: L2 tags and DRAM as two queues with latency and bandwidth."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import LINE_WIDTH, SECTORS
from warpbank.hdl.execute.l1 import Tags
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.typed import record

#: Bits of the clock that answers are stamped with: an answer may come up to 2^31 cycles after its request was
#: served.
TIME_WIDTH = 32
#: Lines that one atomic may touch: each lane's operand is aligned, so it lies in one line.
ATOMIC_LINES = 32


class Request(IntEnum):
    """Kind of a request of the L1 to the L2."""

    READ = 0
    WRITE = 1
    ATOMIC = 2  # answers to the uop
    REDUCE = 3  # does not answer
    FENCE = 4  # answers when all before it have been served


def id_width(config: SmConfig) -> int:
    """Bits of a request's `id`: an MSHR for reads, a uop in flight for atomics and fences."""
    return bits(max(config.l1.mshrs, config.lsu.pending))


class Memory(wiring.Component):
    """Deterministic L2 and DRAM, with latency and bandwidth.

    Requests wait in a FIFO; the L2 serves one every `l2_interval` cycles (an atomic takes `atomic_interval`).
    A hit is answered `l2_latency` cycles after its service. A miss then takes its turn at the DRAM, one line
    every `dram_interval` cycles, and is answered `dram_latency` cycles after that turn; its tag is in the L2
    from its service on. Writes allocate in the L2, are not answered, and a missing one takes a turn at the
    DRAM (for the line that it will push out). One answer per cycle, DRAM first.

    With sectors (`l2_sectors`) a request names those of its line that it wants. The L2 is busy with a sector
    for its share of `l2_interval`, in whole cycles a request; the DRAM moves only sectors that the L2 does
    not have, each in its share of `dram_interval`, exactly.

    The oldest request stands in a register of its own, so that the L2's tags can be read (registered) in the
    cycle before. Each answer is known when its request is served, and waits, stamped with its cycle, in one
    of two FIFOs.

    Parameters
    ----------
    config : latencies, intervals, geometry; the FIFOs of answers are as deep as what can be in flight.
    probe : report `l2_access`.

    Members
    -------
    accepts : Out(1). The queue has room at the clock edge.
    request : In(1). The L1 asks for `line`; only if `accepts`.
    kind : In(Request). Kind of the request.
    line : In(57). Line of the request; means nothing for a fence.
    sectors : In(4). Sectors of 32 bytes that the request wants; means nothing for a fence.
    id : In(id_width). MSHR of a read, or uop in flight of an atomic or fence.
    answer : Out(1). `id_answered` gets its answer.
    fill : Out(1). The answer is a line for an MSHR; otherwise it is for a uop.
    id_answered : Out(id_width). MSHR or uop that is answered.
    events : Out(Events), if `probe`. Accesses of the L2.

    Latency: a request made in cycle t is served in t + 1 at the earliest. An answer stands for one cycle and
    must be taken.

    Raises
    ------
    TypeError : `config` is no SmConfig.
    """

    accepts: Signal
    request: Signal
    kind: Signal  # <enum 'Request'>
    line: Signal
    sectors: Signal
    id: Signal
    answer: Signal
    fill: Signal
    id_answered: Signal
    events: EventsInterface

    def __init__(self, config: SmConfig, *, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Memory needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config.memory
        self._answers = config.l1.mshrs + config.lsu.pending * ATOMIC_LINES
        width = id_width(config)
        members: dict[str, wiring.Member] = {
            "accepts": Out(1),
            "request": In(1),
            "kind": In(Request),
            "line": In(LINE_WIDTH),
            "sectors": In(SECTORS),
            "id": In(width),
            "answer": Out(1),
            "fill": Out(1),
            "id_answered": Out(width),
        }
        if probe:
            members["events"] = Out(Events(config, {"l2_access": 1}))
        self._request_layout = data.StructLayout(
            {"kind": Request, "line": LINE_WIDTH, "sectors": self._config.l2_sectors, "id": width}
        )
        self._answer_layout = data.StructLayout({"time": TIME_WIDTH, "fill": 1, "id": width})
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        sectors = config.l2_sectors
        m.submodules.tags = tags = Tags(config.l2_sets, config.l2_ways, sectors, ahead=True)

        head = record(self._request_layout)
        head_valid = Signal()
        waiting = Signal(range(config.queue + 1))
        serve = Signal()
        m.submodules.queue = queue = fifo.SyncFIFO(width=head.shape().size, depth=config.queue)
        new = record(self._request_layout)
        following = record(self._request_layout)  # the head of the next cycle, if it is another one
        load = Signal()
        m.d.comb += [
            self.accepts.eq(waiting < config.queue),
            new.kind.eq(self.kind),
            new.line.eq(self.line),
            new.sectors.eq(self.sectors if sectors > 1 else 1),
            new.id.eq(self.id),
            load.eq((~head_valid | serve) & (queue.r_rdy | self.request)),
            following.eq(Mux(queue.r_rdy, queue.r_data, new)),
            queue.r_en.eq(load & queue.r_rdy),
            queue.w_data.eq(new),
            queue.w_en.eq(self.request & ~(load & ~queue.r_rdy)),
            tags.next_line.eq(following.line),
            tags.next_valid.eq(load),
        ]
        m.d.sync += waiting.eq(waiting + self.request - serve)
        with m.If(load):
            m.d.sync += [head.eq(following), head_valid.eq(1)]
        with m.Elif(serve):
            m.d.sync += head_valid.eq(0)

        pause = Signal(
            range(max(config.l2_interval, config.atomic_interval, 2))
        )  # cycles until the L2 may serve
        atomic = Signal()
        fence = Signal()
        miss = Signal()
        answered = Signal()
        m.d.comb += [
            serve.eq(head_valid & (pause == 0)),
            atomic.eq((head.kind == Request.ATOMIC) | (head.kind == Request.REDUCE)),
            fence.eq(head.kind == Request.FENCE),
            answered.eq((head.kind != Request.WRITE) & (head.kind != Request.REDUCE)),
            miss.eq(~fence & ~tags.hit),
            tags.line.eq(head.line),
            tags.sectors.eq(head.sectors),
            tags.touch.eq(serve & ~fence & ~miss),
            tags.insert.eq(serve & miss),
        ]
        busy = Signal.like(pause, name="busy")  # cycles after this one that the L2 takes for the request
        m.d.comb += busy.eq(config.l2_interval - 1)
        if sectors > 1:
            with m.Switch(_ones(head.sectors)):
                for count in range(1, sectors):
                    with m.Case(count):
                        m.d.comb += busy.eq(Mux(fence, config.l2_interval, config.l2_busy(count)) - 1)
        with m.If(serve):
            m.d.sync += pause.eq(Mux(atomic, config.atomic_interval - 1, busy))
        with m.Elif(pause != 0):
            m.d.sync += pause.eq(pause - 1)

        # The DRAM's time is counted in parts of a cycle, one per sector of a line.
        part_bits = sectors.bit_length() - 1
        now = Signal(TIME_WIDTH)
        backlog = Signal(TIME_WIDTH + part_bits)  # parts until the DRAM may begin another request
        turn = Signal.like(backlog, name="turn")  # parts until it begins the one missing now
        earliest = config.l2_latency * sectors
        moved = sum(Mux(tags.missing[sector], config.dram_interval, 0) for sector in range(sectors))
        m.d.sync += now.eq(now + 1)
        m.d.comb += turn.eq(Mux(backlog > earliest, backlog, earliest))
        with m.If(serve & miss):
            m.d.sync += backlog.eq(turn + (moved if sectors > 1 else config.dram_interval) - sectors)
        with m.Elif(backlog >= sectors):
            m.d.sync += backlog.eq(backlog - sectors)
        with m.Else():
            m.d.sync += backlog.eq(0)

        taken: Value | int = 0
        for name, condition, delay in (
            ("dram", miss, ((turn + (sectors - 1)) >> part_bits) + config.dram_latency),
            ("l2", ~miss, config.l2_latency),
        ):
            answers = fifo.SyncFIFO(width=self._answer_layout.size, depth=self._answers)
            m.submodules[f"from_{name}"] = answers
            entry = record(self._answer_layout, name=f"{name}_entry")
            first = record(self._answer_layout, name=f"{name}_first")
            late = Signal(TIME_WIDTH, name=f"{name}_late")
            due = Signal(name=f"{name}_due")
            m.d.comb += [
                entry.time.eq(now + delay),
                entry.fill.eq(head.kind == Request.READ),
                entry.id.eq(head.id),
                answers.w_data.eq(entry),
                answers.w_en.eq(serve & answered & condition),
                first.eq(answers.r_data),
                late.eq(now - first.time),
                due.eq(answers.r_rdy & ~late[-1]),
                answers.r_en.eq(due & ~taken),
            ]
            with m.If(answers.r_en):
                m.d.comb += [self.answer.eq(1), self.fill.eq(first.fill), self.id_answered.eq(first.id)]
            taken = taken | due

        if hasattr(self, "events"):
            emit(m, self.events.l2_access[0], serve & ~fence, line=head.line, hit=tags.hit)
        return m


def _ones(mask: Value) -> Value:
    """How many bits of a mask are 1."""
    return sum((mask[place] for place in range(len(mask))), Const(0))
