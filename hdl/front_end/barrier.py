"""CTA barriers, shared by the sub-cores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import Arrival, ArrivalInterface
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import decode
from warpbank.hdl.typed import Numbers


class Barriers(wiring.Component):
    """Named barriers of every CTA, which count arrivals and release the warps that wait.

    A barrier opens when all the warps that it expects have arrived.

    A barrier expects the number of warps its arrivals name, or all warps of the CTA that have not yet issued
    their last uop. One of a number of warps is complete with the arrival that makes it that many, counted in
    the order of the sub-cores: who arrives behind that is counted for its next use.

    Golden counts both kinds alike. Here a barrier of all warps has no counter: PTX lets a warp arrive without
    waiting only where it names a number, so all live warps have arrived when all of them wait, and at the
    same barrier. What a warp waits for is kept as bit planes (bit p of all warps' barrier numbers in one
    register), so that a CTA is looked at in a few word operations. Where a number is named, arrivals are
    counted in a table, and looked at when one arrives.

    Parameters
    ----------
    config : sub-cores, CTA slots, barriers of a CTA.
    probe : report `barrier_open`.

    Members
    -------
    start : In(warps of the SM). Warps that start; bit sub-core x warps + slot.
    arrivals : In(Arrival) per sub-core. Uop that issues and concerns the barriers. The testbench must refuse
        a barrier number that the machine does not have, `arrive` without `wait` and number of warps, and both
        kinds of arrival at one barrier.
    ctas : In(bits(max_ctas)) per sub-core. CTA slot of the warp that issues.
    members : In(warps of the SM) per sub-core. Warps of that CTA.
    release : Out(warps) per sub-core. Warps that may go on, one that arrives in this cycle among them.
    events : Out(Events), if `probe`. Per sub-core one instance for a barrier of all warps, then one for a
        barrier of a number.

    Latency: a barrier completed in cycle t releases its warps in t, for t + 1.

    Raises
    ------
    TypeError : `config` is no SmConfig.
    """

    start: Signal
    arrivals: list[ArrivalInterface]
    ctas: list[Signal]
    members: list[Signal]
    release: list[Signal]
    events: EventsInterface

    def __init__(self, config: SmConfig, *, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Barriers needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        members: dict[str, wiring.Member] = {
            "start": In(config.warps),
            "arrivals": In(Arrival(config)).array(config.sub_cores),
            "ctas": In(bits(config.cta.max_ctas)).array(config.sub_cores),
            "members": In(config.warps).array(config.sub_cores),
            "release": Out(config.sub_core.warps).array(config.sub_cores),
        }
        if probe:
            members["events"] = Out(Events(config, {"barrier_open": 2 * config.sub_cores}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        warps = config.sub_core.warps
        width = bits(config.cta.barriers)

        def masks(name: str, enables: Sequence[Value]) -> Signal:
            """Mask of the SM's warps that issue now, where `enables` says so for their sub-core."""
            mask = Signal(config.warps, name=name)
            m.d.comb += mask.eq(
                Cat(
                    decode(m, arrival.warp, enable, warps, f"{name}_{core}")
                    for core, (arrival, enable) in enumerate(zip(self.arrivals, enables, strict=True))
                )
            )
            return mask

        arrivals = self.arrivals
        waits = masks("waits", [arrival.arrive & arrival.wait for arrival in arrivals])
        waits_whole = masks(
            "waits_whole",
            [arrival.arrive & arrival.wait & (arrival.barrier_warps == 0) for arrival in arrivals],
        )
        lasts = masks("lasts", [arrival.last for arrival in arrivals])
        free, live, live_now = Signal(config.warps), Signal(config.warps), Signal(config.warps)
        waiting, waiting_now = Signal(config.warps), Signal(config.warps)
        whole, whole_now = Signal(config.warps), Signal(config.warps)  # among them, at a barrier of all warps
        m.d.comb += [
            live_now.eq(live & ~lasts),
            waiting_now.eq(waiting | waits),
            whole_now.eq((whole & ~waits) | waits_whole),
        ]
        m.d.sync += [live.eq(live_now | self.start), waiting.eq(waiting_now & ~free), whole.eq(whole_now)]
        numbers = []
        for place in range(width):
            plane, plane_now = (
                Signal(config.warps, name=f"number_{place}"),
                Signal(config.warps, name=f"number_now_{place}"),
            )
            new = masks(
                f"number_new_{place}",
                [arrival.arrive & arrival.wait & arrival.barrier[place] for arrival in arrivals],
            )
            m.d.comb += plane_now.eq((plane & ~waits) | new)
            m.d.sync += plane.eq(plane_now)
            numbers.append(plane_now)

        self._ended: list[Signal] = []  # by sub-core: the CTA of the warp that issues has ended
        released: Value = self._whole(m, live_now, waiting_now & whole_now, numbers)
        released = released | self._named(m, waiting_now & ~whole_now, waits, numbers)
        m.d.comb += free.eq(released)
        m.d.comb += [release.eq(free.word_select(core, warps)) for core, release in enumerate(self.release)]
        return m

    def _whole(self, m: Module, live: Signal, waiting: Value, numbers: list[Signal]) -> Value:
        """Open the barriers of all warps of a CTA, looked at where one of them arrives or ends. Returns the
        warps released."""
        released: Value = Const(0)
        there = Signal.like(live, name="there")
        m.d.comb += there.eq(waiting)
        busy = Signal(len(self.ctas))  # sub-cores; of those that issue of one CTA, the lowest
        for core, arrival in enumerate(self.arrivals):
            earlier = [busy[other] & (self.ctas[other] == self.ctas[core]) for other in range(core)]
            m.d.comb += busy[core].eq((arrival.arrive | arrival.last) & ~Cat(earlier).any())
            left = Signal.like(live, name=f"left_{core}")  # warps of the CTA that must be there
            opens = Signal(name=f"opens_{core}")
            number = Signal(len(numbers), name=f"opened_{core}")
            m.d.comb += left.eq(self.members[core] & live)
            agree: Value = (left & ~there) == 0
            for place, plane in enumerate(numbers):
                m.d.comb += number[place].eq((left & plane).any())
                agree = agree & ~(number[place] & (left & ~plane).any())
            ended = Signal(name=f"ended_{core}")
            self._ended.append(ended)
            m.d.comb += [opens.eq(busy[core] & (left != 0) & agree), ended.eq(arrival.last & (left == 0))]
            released = released | Mux(opens, left, 0)
            if hasattr(self, "events"):
                emit(m, self.events.barrier_open[core], opens, cta=self.ctas[core], barrier=number)
        return released

    def _named(self, m: Module, waiting: Value, waits: Value, numbers: list[Signal]) -> Value:
        """Open the barriers of a number of warps, looked at where one arrives; `waits`: warps that wait from
        this cycle on. Returns the warps released."""
        config = self._config
        width, barrier_width = bits(config.warps + 1), len(numbers)
        counts: Numbers = memory.Memory(
            shape=width, depth=max(2, config.cta.max_ctas << barrier_width), init=[]
        )
        m.submodules.counts = counts
        #: By CTA slot, barriers that somebody has arrived at; what the others count is of a CTA before.
        used = [Signal(1 << barrier_width, name=f"used_{slot}") for slot in range(config.cta.max_ctas)]
        reached: list[tuple[Value, Value]] = []  # by sub-core: whether, and which barrier
        released: Value = Const(0)
        afters: list[Value] = []
        keys = [
            Cat(arrival.barrier[:barrier_width], cta)
            for arrival, cta in zip(self.arrivals, self.ctas, strict=True)
        ]
        counted = Signal(len(keys))
        m.d.comb += [
            counted[core].eq(arrival.arrive & (arrival.barrier_warps != 0))
            for core, arrival in enumerate(self.arrivals)
        ]
        for core, key in enumerate(keys):
            # Several sub-cores may arrive at one barrier: one after the other, the last writes the count.
            number = key[:barrier_width]
            same = Signal(len(keys), name=f"same_{core}")
            m.d.comb += [same[other].eq(counted[other] & (keys[other] == key)) for other in range(len(keys))]
            counts_on = Array(used)[self.ctas[core]].bit_select(number, 1)
            before: Value = Mux(counts_on, read_at(m, counts, key), 0)
            for other in range(core):
                before = Mux(same[other], afters[other], before)
            total, after = Signal(width + 1, name=f"total_{core}"), Signal(width, name=f"after_{core}")
            opens = Signal(name=f"opens_named_{core}")
            m.d.comb += [
                total.eq(before + 1),
                opens.eq(counted[core] & (total >= self.arrivals[core].barrier_warps)),
                after.eq(Mux(opens, 0, total)),
            ]
            afters.append(after)
            write_at(m, counts, key, after, counted[core] & ~same[core + 1 :].any())
            reached.append((counted[core], 1 << number))
            there = Signal(config.warps, name=f"there_named_{core}")
            upto = (1 << (core + 1) * config.sub_core.warps) - 1
            m.d.comb += there.eq(waiting & ~(waits & ~upto))
            here: Value = self.members[core] & there
            for place, plane in enumerate(numbers):
                here = here & Mux(self.arrivals[core].barrier[place], plane, ~plane)
            released = released | Mux(opens, here, 0)
            if hasattr(self, "events"):
                emit(
                    m,
                    self.events.barrier_open[len(keys) + core],
                    opens,
                    cta=self.ctas[core],
                    barrier=self.arrivals[core].barrier[:barrier_width],
                )
        for slot, mask in enumerate(used):
            mine = [cta == slot for cta in self.ctas]
            now = (Mux(leads & own, bit, 0) for own, (leads, bit) in zip(mine, reached, strict=True))
            ended = Cat(own & over for own, over in zip(mine, self._ended, strict=True)).any()
            m.d.sync += mask.eq(Mux(ended, 0, mask | reduce(or_, now)))
        return released
