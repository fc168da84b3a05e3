"""Link: one bank of the main register file and its link of the narrow crossbar."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import TRANSFER_QUEUE, SmConfig, bits
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.typed import Record, record


def transfer_layout(config: SmConfig) -> data.StructLayout:
    """One register between cache and main register file: whether it leaves the cache, which register of which
    warp, its bank and row of the cache, its row of the main register file; of one that leaves, whether it is
    kept as it is."""
    core = config.sub_core
    return data.StructLayout(
        {
            "out": 1,
            "warp": core.warp_width,
            "register": REGISTER_WIDTH,
            "entry": bits(core.cache.registers),
            "offset": bits(core.active_warps),
            "row": core.row_width,
            "plain": 1,
        }
    )


def beat_width(config: SmConfig, noted: int) -> int:
    """Bits of a register, and of its note, that cross in a cycle."""
    return -(-(config.value_width + noted) // config.sub_core.cache.crossing)


class Link(wiring.Component):
    """Link of a bank of the main register file: transfers that wait, one that the bank reads ahead, one that
    crosses. LTRF, section 4.2; see `warpbank.golden.hierarchy.engine.Link`.

    Parameters
    ----------
    config : the machine: cache, latency of the banks.
    delay : cycles by which a register comes later than its bank delivers it.
    noted : bits of the note that goes with a register.

    Members
    -------
    push : In(1). `order` waits from the next cycle on; only if `room`.
    order : In(transfer_layout).
    room : Out(1). From registers, as all outputs except `reads`.
    forget : In(1). Registers that have left the cache, or are about to, do not reach the main register file.
    comes, leaves : Out(banks of the cache). `offered` can cross, as far as the link and the bank are
        concerned: mask of the bank that it comes into, or leaves; 0 if there is none.
    offered : Out(transfer_layout).
    starts : In(1). It does, from the next cycle on.
    reads, writes : Out(1). The link asks for its bank, for `bank_transfer`. `reads` depends on `starts`.
    bank_transfer : Out(transfer_layout).
    access : In(1). The bank is given to it in this cycle, for `cycles` cycles.
    cycles : In.
    data : In. What the bank has read, with its note: in the cycle behind `starts`, as its first beat crosses.
    carried : Out. What the bank is to write, with its note: with `writes`, and in the cycle behind it.
    beats : Out(1). A beat crosses: `sent` of a register that comes, `got` of one that leaves.
    sent : Out(beat). got : In(beat).
    crossing : Out(transfer_layout). What crosses, or waits to be written.
    wanted, coming, unread : Out(TRANSFER_QUEUE + 2). Places of the link whose register is on its way and
        wanted where it goes; comes into the cache; leaves the cache and has not been read there.
    transfers : Out(transfer_layout) per place: the queue, the register read ahead, the one that crosses.
    """

    push: Signal
    order: Record
    room: Signal
    forget: Signal
    comes: Signal
    leaves: Signal
    offered: Record
    starts: Signal
    reads: Signal
    writes: Signal
    bank_transfer: Record
    access: Signal
    cycles: Signal
    data: Signal
    carried: Signal
    beats: Signal
    sent: Signal
    got: Signal
    crossing: Record
    wanted: Signal
    coming: Signal
    unread: Signal
    transfers: list[Record]

    def __init__(self, config: SmConfig, delay: int, noted: int) -> None:
        self._config, self._delay = config, delay
        core = config.sub_core
        layout, beat = transfer_layout(config), beat_width(config, noted)
        self._width = config.value_width + noted
        places = TRANSFER_QUEUE + 2
        super().__init__(
            {
                "push": In(1),
                "order": In(layout),
                "room": Out(1),
                "forget": In(1),
                "comes": Out(core.cache.registers),
                "leaves": Out(core.cache.registers),
                "offered": Out(layout),
                "starts": In(1),
                "reads": Out(1),
                "writes": Out(1),
                "bank_transfer": Out(layout),
                "access": In(1),
                "cycles": In(bits(core.bank_latency // 100 + 2)),
                "data": In(self._width),
                "carried": Out(self._width),
                "beats": Out(1),
                "sent": Out(beat),
                "got": In(beat),
                "crossing": Out(layout),
                "wanted": Out(places),
                "coming": Out(places),
                "unread": Out(places),
                "transfers": Out(layout).array(places),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._queue(m)
        self._ahead(m)
        self._cross(m)
        head, crossing = self._heads[0], self._crossing
        full, done = self._full, Signal(name="done")
        void = Cat(*self._void, 0, self._crossing_void)
        used = Cat(*self._valid, full, self._busy)
        out = Cat(*(each.out for each in self._heads), 0, crossing.out)
        reading = Cat(
            *self._valid, full, self._busy & (self._left == self._config.sub_core.cache.crossing + 1)
        )
        same = self._busy & crossing.out & (crossing.warp == head.warp) & (crossing.register == head.register)
        m.d.comb += [
            done.eq(self._busy & crossing.out & (self._left == 0)),
            self.writes.eq(done & ~self._crossing_void),
            self.reads.eq(self._valid[0] & ~head.out & ~done & ~same & (~full | self.starts)),
            self.bank_transfer.eq(Mux(done, crossing.as_value(), head.as_value())),
            self._stored.eq(done & (self.access | self._crossing_void)),
            self._fetched.eq(self.reads & self.access),
            self.wanted.eq(used & ~(out & void)),
            self.coming.eq(used & ~out),
            self.unread.eq(reading & out),
            *(port.eq(each) for port, each in zip(self.transfers, self._places(), strict=True)),
        ]
        return m

    def _places(self) -> list[Record]:
        return [*self._heads, self._ahead_transfer, self._crossing]

    def _queue(self, m: Module) -> None:
        """The queue: a shift register, the oldest transfer first."""
        layout = transfer_layout(self._config)
        self._heads = [record(layout, name=f"queued_{place}") for place in range(TRANSFER_QUEUE)]
        self._valid = [Signal(name=f"queued_valid_{place}") for place in range(TRANSFER_QUEUE)]
        self._void = [Signal(name=f"queued_void_{place}") for place in range(TRANSFER_QUEUE)]
        self._stored, self._fetched = Signal(name="stored"), Signal(name="fetched")
        pop = self._pop = Signal(name="pop")
        m.d.comb += [pop.eq(self._fetched | self.starts & self.offered.out), self.room.eq(~self._valid[-1])]
        for place in range(TRANSFER_QUEUE):
            last = place == TRANSFER_QUEUE - 1
            behind = (
                (Value.cast(0), Value.cast(0), self._heads[place])
                if last
                else (self._valid[place + 1], self._void[place + 1], self._heads[place + 1])
            )
            stays = Signal(name=f"stays_{place}")
            m.d.comb += stays.eq(Mux(pop, behind[0], self._valid[place]))
            before = Signal(name=f"filled_to_{place}")  # all places before this one stay in use
            if place:
                m.d.comb += before.eq(Mux(pop, self._valid[place], self._valid[place - 1]))
            else:
                m.d.comb += before.eq(1)
            takes = Signal(name=f"takes_{place}")
            m.d.comb += takes.eq(self.push & ~stays & before)
            m.d.sync += [
                self._valid[place].eq(stays | takes),
                self._void[place].eq(Mux(stays, Mux(pop, behind[1], self._void[place]), 0) | self.forget),
            ]
            # A place that is not in use follows `order`, pushed or not: whether it is pushed comes late.
            with m.If(~stays):
                m.d.sync += self._heads[place].eq(self.order)
            with m.Elif(pop):
                m.d.sync += self._heads[place].eq(behind[2])

    def _ahead(self, m: Module) -> None:
        """The register that the bank reads, or has read, and that waits for the link."""
        most = self._delay + self._config.sub_core.bank_latency // 100 + 2
        self._full, left = Signal(name="ahead_full"), Signal(range(most + 1), name="ahead_left")
        self._ahead_left = left
        transfer = self._ahead_transfer = record(transfer_layout(self._config), name="ahead")
        head = self._heads[0]
        with m.If(self._fetched):
            m.d.sync += [self._full.eq(1), left.eq(self.cycles + (self._delay - 1)), transfer.eq(head)]
        with m.Else():
            with m.If(self.starts & ~self.offered.out):
                m.d.sync += self._full.eq(0)
            with m.If(left != 0):
                m.d.sync += left.eq(left - 1)
        m.d.comb += self.offered.eq(Mux(self._full, transfer.as_value(), head.as_value()))

    def _cross(self, m: Module) -> None:
        """The transfer on the link, and its beats."""
        crossing = self._config.sub_core.cache.crossing
        busy, left = Signal(name="busy"), Signal(range(crossing + 2), name="left")
        transfer = self._crossing = record(transfer_layout(self._config), name="crosses")
        void = self._crossing_void = Signal(name="crossing_void")
        beat = len(self.sent)
        word = Signal(beat * crossing, name="word", reset_less=True)
        first, read = Signal(name="first"), Signal(beat * crossing, name="read")
        self._busy, self._left, self._word = busy, left, word
        self._offer(m, ~busy | ~transfer.out & (left == 1))
        m.d.comb += [
            self.beats.eq((left != 0) & (left <= crossing)),
            first.eq(~transfer.out & (left == crossing)),
            read.eq(self.data),
            self.sent.eq(Mux(first, read[:beat], word[:beat])),
            self.carried.eq(word[: self._width]),
            self.crossing.eq(transfer),
        ]
        with m.If(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.If(first):
            m.d.sync += word.eq(read >> beat)
        with m.Elif(self.beats):
            m.d.sync += word.eq(Cat(word[beat:], self.got))
        with m.If(self.starts):
            m.d.sync += [
                busy.eq(1),
                left.eq(crossing + self.offered.out),
                transfer.eq(self.offered),
                void.eq(self.offered.out & (self._void[0] | self.forget)),
            ]
        with m.Else():
            with m.If(self._stored | busy & ~transfer.out & (left == 1)):
                m.d.sync += busy.eq(0)
            with m.If(self.forget):
                m.d.sync += void.eq(1)

    def _offer(self, m: Module, free: Value) -> None:
        """Offer the register that was read ahead, or else the oldest transfer if it leaves, to its bank of
        the cache, if the link is `free`. Each finds its bank by itself: which of the two it is comes late."""
        ahead, head = self._ahead_transfer, self._heads[0]
        comes = self._full & (self._ahead_left == 0) & free
        leaves = ~self._full & self._valid[0] & head.out & free
        for mask, transfer, offered in ((self.comes, ahead, comes), (self.leaves, head, leaves)):
            m.d.comb += mask.eq(Cat((transfer.entry == bank) & offered for bank in range(len(mask))))
