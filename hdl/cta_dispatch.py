"""CTA dispatch: launches run one after the other, as many CTAs at a time as the SM has room for.

Room is registers, shared memory, warp slots and CTA slots.
"""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.interfaces import Start, StartInterface
from warpbank.hdl.layouts import REGISTER_WIDTH
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import chosen, first_from
from warpbank.hdl.typed import Interface

#: Bits of a number of CTAs.
CTAS_WIDTH = 32


def launch_layout(config: SmConfig) -> data.StructLayout:
    """Kernel launch, as the testbench describes it.

    Its CTAs must fit the machine (`LaunchError` in golden).

    Fields
    ------
    ctas : CTAs of the launch.
    warps_per_cta : warps of a CTA.
    shared_bytes : shared memory of a CTA in bytes.
    rows : rows of every bank per warp, `SmConfig.rows_per_warp`.
    slots : warp slots of a sub-core that this leaves, `SmConfig.launch_shape`.
    registers : if the machine takes release flags: registers per thread.
    exempt : if the machine takes release flags: mask of the registers that are not renamed.
    kept : if the machine takes release flags: physical registers of a sub-core that are kept for the CTA that
        has its turn, `SmConfig.launch_reserve`.
    """
    flags: dict[str, int] = {}
    if config.takes_flags:
        kept = bits(config.sub_core.warp_registers + 1)
        flags = {"registers": REGISTER_WIDTH + 1, "exempt": 1 << REGISTER_WIDTH, "kept": kept}
    return data.StructLayout(
        {
            "ctas": CTAS_WIDTH,
            "warps_per_cta": bits(config.warps + 1),
            "shared_bytes": bits(config.cta.shared_bytes + 1),
            "rows": bits(config.sub_core.rows + 1),
            "slots": bits(config.sub_core.warps + 1),
            **flags,
        }
    )


class Started(wiring.Signature):
    """Notice that a CTA starts.

    Seen from the dispatcher. CTAs start in order.

    Members
    -------
    valid : Out(1). In this cycle the launch's next CTA starts in CTA slot `cta`.
    cta : Out(bits(max_ctas)). CTA slot.
    begin : Out(bits(sub_cores)). Sub-core of the first warp: warp i goes to sub-core (begin + i) mod
        sub-cores, to the lowest slot of that sub-core's `start.warps` that no warp before it got.
    warps : Out(bits(warps + 1)). Warps of the CTA.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "cta": Out(bits(config.cta.max_ctas)),
                "begin": Out(bits(config.sub_cores)),
                "warps": Out(bits(config.warps + 1)),
            }
        )


class StartedInterface(Interface, Protocol):
    """Interface object of the signature `Started`."""

    valid: Signal
    cta: Signal
    begin: Signal
    warps: Signal


class CtaDispatch(wiring.Component):
    """CTA dispatcher: starts CTAs in order, at most one per cycle, and frees their slots when they end.

    A CTA ends when its last warp has drained.

    Warps go to the sub-cores round robin: the first CTA of a launch begins with sub-core 0, others with the
    one after that of the last warp started; if a warp slot is missing there, with the next beginning that has
    them all. Slot s of a sub-core has the register rows from s x rows per warp on, so that a launch's warps
    never fragment the banks.

    One of the running CTAs has its turn until it ends, then the one in the next slot that has any: all
    sub-cores serve it first where physical registers are short.

    Parameters
    ----------
    config : limits.
    probe : report `cta_start`, `cta_end`.

    Members
    -------
    launch : In(stream of launch_layout). Launches; `ready` when all CTAs of the launch before have been
        started and the last of them ends in this cycle, or has ended. The first CTA of a launch taken in
        cycle t starts in t + 1.
    start : Out(Start) per sub-core. Warps that start.
    started : Out(Started). CTA that starts.
    drain : In(warps) per sub-core. Warps that drain in this cycle.
    warps : In(bits(warps)) per sub-core. Warp slot whose CTA is asked for.
    ctas : Out(bits(max_ctas)) per sub-core. CTA slot of the warp in slot `warps`.
    members : Out(warps of the SM) per sub-core. Warps of that CTA (bit sub-core x warps + slot).
    events : Out(Events), if `probe`. CTAs that start and end.

    Latency: slots freed in cycle t can be used in t + 1.

    Raises
    ------
    TypeError : `config` is no SmConfig.
    """

    launch: stream.Interface
    start: list[StartInterface]
    started: StartedInterface
    drain: list[Signal]
    warps: list[Signal]
    ctas: list[Signal]
    members: list[Signal]
    events: EventsInterface

    def __init__(self, config: SmConfig, *, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"CtaDispatch needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        cores, warps = config.sub_cores, config.sub_core.warps
        members: dict[str, wiring.Member] = {
            "launch": In(stream.Signature(launch_layout(config))),
            "start": Out(Start(config)).array(cores),
            "started": Out(Started(config)),
            "drain": In(warps).array(cores),
            "warps": In(bits(warps)).array(cores),
            "ctas": Out(bits(config.cta.max_ctas)).array(cores),
            "members": Out(config.warps).array(cores),
        }
        if probe:
            members["events"] = Out(Events(config, {"cta_start": 1, "cta_end": config.cta.max_ctas}))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        cores, warps, slots = config.sub_cores, config.sub_core.warps, config.cta.max_ctas
        left = Signal(CTAS_WIDTH)  # CTAs to be started
        shared, rows = Signal(bits(config.cta.shared_bytes + 1)), Signal(bits(config.sub_core.rows + 1))
        per_cta = Signal(bits(config.warps + 1))
        each, more = (
            Signal(bits(warps + 1)),
            Signal(range(cores)),
        )  # warps of a CTA: per sub-core; so many have one more
        begin = Signal(range(cores))
        usable, held, free = (Signal(config.warps, name=name) for name in ("usable", "held", "free"))  # slots
        running = Signal(config.warps)  # warps that have not drained
        active = Signal(slots)  # CTA slots
        # CTA slot of every warp, as bit planes: bit p of all of them in one register.
        numbers = [Signal(config.warps, name=f"number_{place}") for place in range(bits(slots))]

        # End: CTAs of which no warp is left.
        after, ends, freed = Signal(config.warps), Signal(slots), Signal(config.warps)
        m.d.comb += [free.eq(usable & ~held), after.eq(running & ~Cat(self.drain))]
        given_back: Value = Const(0)
        for slot, mask in enumerate(self._by_number(m, numbers, slots)):
            m.d.comb += ends[slot].eq(active[slot] & ~(mask & after).any())
            given_back = given_back | Mux(ends[slot], mask, 0)
        m.d.comb += [freed.eq(given_back), self.launch.ready.eq((left == 0) & ((active & ~ends) == 0))]

        # Start: where the next CTA fits.
        shares = [free.word_select(core, warps) for core in range(cores)]
        ranks = [self._ranks(m, share, core) for core, share in enumerate(shares)]
        enough, plenty, fits = Signal(cores), Signal(cores), Signal(cores)
        m.d.comb += [enough[core].eq(ranks[core][-1] >= each) for core in range(cores)]
        m.d.comb += [plenty[core].eq(ranks[core][-1] > each) for core in range(cores)]
        for first in range(cores):
            m.d.comb += fits[first].eq(
                Cat(
                    Mux(more > (core - first) % cores, plenty[core], enough[core]) for core in range(cores)
                ).all()
            )
        place = first_from(m, fits, begin, "place")
        cta = chosen(m, ~active, "cta")
        room, starts = Signal(), Signal()
        m.d.comb += [
            room.eq(shared * (sum(active) + 1) <= config.cta.shared_bytes),
            starts.eq((left != 0) & cta.any & room & place.any),
        ]
        taken = Signal(config.warps)
        for core in range(cores):
            wanted = Signal(bits(warps + 1), name=f"wanted_{core}")
            distance = Cat(
                place.one_hot[(core - shift) % cores] & (more > shift) for shift in range(cores)
            ).any()
            m.d.comb += wanted.eq(each + distance)
            for warp in range(warps):
                m.d.comb += taken[core * warps + warp].eq(
                    starts & shares[core][warp] & (ranks[core][warp] < wanted)
                )
            m.d.comb += [
                self.start[core].warps.eq(taken.word_select(core, warps)),
                self.start[core].rows.eq(rows),
            ]
            if config.takes_flags:
                start, launched = self.start[core], self.launch.payload
                m.d.comb += [
                    start.registers.eq(launched.registers),
                    start.exempt.eq(launched.exempt),
                    start.slots.eq(launched.slots),
                    start.kept.eq(launched.kept),
                ]
        m.d.comb += [
            self.started.valid.eq(starts),
            self.started.cta.eq(cta.index),
            self.started.begin.eq(place.index),
            self.started.warps.eq(per_cta),
        ]

        following = Signal(slots, name="following_ctas")
        m.d.comb += following.eq((active & ~ends) | Mux(starts, cta.one_hot, 0))
        m.d.sync += [running.eq(after | taken), held.eq((held & ~freed) | taken), active.eq(following)]
        if config.takes_flags:
            self._serve(m, following, held, numbers)
        with m.If(starts):
            m.d.sync += [left.eq(left - 1), begin.eq(self._modulo(place.index + more))]
            m.d.sync += [
                plane.eq((plane & ~taken) | Mux(cta.index[place_], taken, 0))
                for place_, plane in enumerate(numbers)
            ]
        with m.If(self.launch.valid & self.launch.ready):
            new = self.launch.payload
            m.d.sync += [
                left.eq(new.ctas),
                shared.eq(new.shared_bytes),
                rows.eq(new.rows),
                per_cta.eq(new.warps_per_cta),
                each.eq(new.warps_per_cta // cores),
                more.eq(new.warps_per_cta % cores),
                begin.eq(0),
                usable.eq(Cat(warp < new.slots for _ in range(cores) for warp in range(warps))),
            ]

        for core in range(cores):
            number = self.ctas[core]
            alike: Value = held
            for place_, plane in enumerate(numbers):
                m.d.comb += number[place_].eq(plane.word_select(core, warps).bit_select(self.warps[core], 1))
                alike = alike & Mux(number[place_], plane, ~plane)
            m.d.comb += self.members[core].eq(alike)
        if hasattr(self, "events"):
            emit(m, self.events.cta_start[0], starts, cta=cta.index)
            for slot in range(slots):
                emit(m, self.events.cta_end[slot], ends[slot], cta=slot)
        return m

    def _serve(self, m: Module, following: Value, held: Value, numbers: list[Signal]) -> None:
        """Give the next of the CTAs that run in the next cycle its turn, once the last one has ended."""
        turn = Signal(bits(len(following)))
        found = first_from(m, following, turn, "turn")
        with m.If(found.any):
            m.d.sync += turn.eq(found.index)
        served: Value = held
        for place, plane in enumerate(numbers):
            served = served & Mux(turn[place], plane, ~plane)
        warps = self._config.sub_core.warps
        for core, start in enumerate(self.start):
            m.d.comb += start.served.eq(served.word_select(core, warps))

    def _by_number(self, m: Module, planes: list[Signal], count: int) -> list[Value]:
        """Masks of the warps with number n, for every n below `count`; a tree over the planes."""
        masks: list[Value] = [Const((1 << len(planes[0])) - 1)]
        for place, plane in reversed(list(enumerate(planes))):
            split: list[Value] = []
            for number, mask in enumerate(masks):
                for bit in range(2):
                    part = Signal(len(plane), name=f"warps_{place}_{2 * number + bit}")
                    m.d.comb += part.eq(mask & (plane if bit else ~plane))
                    split.append(part)
            masks = split
        return masks[:count]

    def _ranks(self, m: Module, share: Value, core: int) -> list[Signal]:
        """Count for every warp slot how many free ones are below it; last, how many there are."""
        width = bits(self._config.sub_core.warps + 1)
        ranks = [Signal(width, name=f"rank_{core}_{warp}") for warp in range(self._config.sub_core.warps + 1)]
        for warp in range(self._config.sub_core.warps):
            m.d.comb += ranks[warp + 1].eq(ranks[warp] + share[warp])
        return ranks

    def _modulo(self, place: Value) -> Value:
        """`place`, below twice the number of sub-cores, modulo that number."""
        cores = self._config.sub_cores
        return Mux(place >= cores, place - cores, place)
