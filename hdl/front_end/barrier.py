"""CTA barriers, shared by the sub-cores."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig, bits

from ..lookup import read_at, write_at
from ..priority import decode
from ..probe import Events, emit
from ..seams import Arrival


class Barriers(wiring.Component):
    """Named barriers of every CTA: arrivals are counted, waiting warps released when all expected ones are there.

    A barrier expects the number of warps its arrivals name, or all warps of the CTA that have not yet issued their last uop.

    Arrivals and expectations of a CTA's barriers are one row of a table. Each sub-core's issue may change one row; where several
    change the same one in a cycle, the lowest of them does it for all. Waiting warps are kept per barrier number, of all CTAs
    together, since a warp waits at one barrier only.

    Parameters
    ----------
    config : sub-cores, CTA slots, barriers of a CTA.
    probe : report `barrier_open`.

    Members
    -------
    start, start_cta, start_warps : In(1), In, In. This CTA slot receives a CTA of so many warps.
    arrivals : In, `Arrival` per sub-core. A barrier number the machine does not have is the testbench's to refuse.
    ctas, members : In, per sub-core: the CTA slot of the warp that issues; the warps of that CTA (bit sub-core x warps + slot).
    release : Out, per sub-core a bit per warp slot. The warp may go on; also one that arrives in this cycle.
    events : Out, if `probe`; instance (sub-core x barriers + barrier).

    Latency: a barrier completed in cycle t releases its warps in t, for t + 1.

    Raises
    ------
    TypeError : `config` is no SmConfig.
    """

    def __init__(self, config: SmConfig, *, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Barriers needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        cta_width = bits(config.cta.max_ctas)
        members: dict[str, Any] = {
            "start": In(1), "start_cta": In(cta_width), "start_warps": In(bits(config.warps + 1)),
            "arrivals": In(Arrival(config)).array(config.sub_cores),
            "ctas": In(cta_width).array(config.sub_cores),
            "members": In(config.warps).array(config.sub_cores),
            "release": Out(config.sub_core.warps).array(config.sub_cores),
        }
        if probe:
            members["events"] = Out(Events(config, {"barrier_open": config.sub_cores * config.cta.barriers}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        cores, count, slots = config.sub_cores, config.cta.barriers, max(2, config.cta.max_ctas)
        width = bits(config.warps + 1)
        # Below what is expected, between cycles; so it fits the width of an expectation.
        row_shape = data.ArrayLayout(data.StructLayout({"arrived": width, "expected": width}), count)
        m.submodules.rows = rows = memory.Memory(shape=row_shape, depth=slots, init=[])
        m.submodules.live = live = memory.Memory(shape=width, depth=slots, init=[])
        write_at(m, live, self.start_cta, self.start_warps, self.start)

        busy = [Signal(name=f"busy_{core}") for core in range(cores)]
        at = []  # the barrier arrived at, one-hot
        for core, arrival in enumerate(self.arrivals):
            m.d.comb += busy[core].eq(arrival.arrive | arrival.last)
            at.append(decode(m, arrival.barrier[:bits(count)], arrival.arrive, count, f"at_{core}"))

        released: Any = 0
        waiting = [Signal(config.warps, name=f"waiting_{barrier}") for barrier in range(count)]
        waiting_now = [Signal(config.warps, name=f"waiting_now_{barrier}") for barrier in range(count)]
        for core in range(cores):
            opens = self._row(m, core, rows, live, busy, at)
            chosen: Any = 0
            for barrier in range(count):
                chosen = chosen | Mux(opens[barrier], waiting_now[barrier], 0)
            mine = Signal(config.warps, name=f"released_{core}")
            m.d.comb += mine.eq(chosen & self.members[core])
            released = released | mine
            if hasattr(self, "events"):
                for barrier in range(count):
                    emit(m, self.events.barrier_open[core * count + barrier], opens[barrier], cta=self.ctas[core],
                         barrier=barrier)
        free = Signal(config.warps)
        m.d.comb += free.eq(released)
        waits = [decode(m, arrival.warp, arrival.wait & arrival.arrive, config.sub_core.warps, f"waits_{core}")
                 for core, arrival in enumerate(self.arrivals)]
        for barrier in range(count):
            new = Cat(Mux(at[core][barrier], mask, 0) for core, mask in enumerate(waits))
            m.d.comb += waiting_now[barrier].eq(waiting[barrier] | new)
            m.d.sync += waiting[barrier].eq(waiting_now[barrier] & ~free)
        m.d.comb += [release.eq(free.word_select(core, config.sub_core.warps)) for core, release in enumerate(self.release)]
        return m

    def _row(self, m: Module, core: int, rows: memory.Memory, live: memory.Memory, busy: list[Signal],
             at: list[Signal]) -> Signal:
        """The barriers of the CTA whose warp sub-core `core` issues; returns which of them open. 0 if another core does it."""
        count = self._config.cta.barriers
        cta = self.ctas[core]
        same = [Signal(name=f"same_{core}_{other}") for other in range(len(busy))]
        m.d.comb += [bit.eq(busy[core] & busy[other] & (self.ctas[other] == cta)) for other, bit in enumerate(same)]
        lead = Signal(name=f"lead_{core}")
        m.d.comb += lead.eq(busy[core] & ~Cat(same[:core]).any())
        alive = Signal(len(self.start_warps), name=f"alive_{core}")
        m.d.comb += alive.eq(read_at(m, live, cta) - sum(
            Cat(bit & arrival.last)[0] for bit, arrival in zip(same, self.arrivals, strict=True)))
        write_at(m, live, cta, alive, lead)

        row = read_at(m, rows, cta)
        after = Signal(rows.shape, name=f"row_{core}")
        opens = Signal(count, name=f"opens_{core}")
        here = [Signal(count, name=f"here_{core}_{other}") for other in range(len(busy))]
        m.d.comb += [mask.eq(Mux(bit, arrived, 0)) for mask, bit, arrived in zip(here, same, at, strict=True)]
        for barrier in range(count):
            expected = row[barrier].expected
            for mask, arrival in zip(here, self.arrivals, strict=True):
                expected = Mux(mask[barrier], arrival.barrier_warps, expected)
            arrived = Signal(len(alive) + 1, name=f"arrived_{core}_{barrier}")
            needed = Signal(len(alive), name=f"needed_{core}_{barrier}")
            m.d.comb += [
                arrived.eq(row[barrier].arrived + sum(mask[barrier] for mask in here)),
                after[barrier].expected.eq(expected),
                needed.eq(Mux(after[barrier].expected == 0, alive, after[barrier].expected)),
                opens[barrier].eq(lead & (arrived != 0) & (arrived >= needed)),
                after[barrier].arrived.eq(Mux(opens[barrier], 0, arrived)),
            ]
        write_at(m, rows, cta, after, lead)
        return opens
