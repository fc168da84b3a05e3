"""Register renaming: registers share the banks' rows, each has one only from its first write to its last
read."""

from __future__ import annotations

from warpbank.arch.parameters import SubCoreConfig
from warpbank.golden.mapping.availability import Availability
from warpbank.golden.mapping.deadlock_reserve import DeadlockReserve
from warpbank.golden.mapping.exempt import Exempt
from warpbank.golden.mapping.operand_lookup import Group, OperandLookup
from warpbank.golden.mapping.release import Release
from warpbank.golden.mapping.table import RenamingTable
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop


class Renaming:
    """The mapping of a sub-core by renaming. Jeon and Annavaram, CENG-2014-05, section 6.

    A register gets a physical register when a uop that writes it issues and it has none; it loses it after it
    was declared dead (`Release`). Physical register p is row p / banks of bank p mod banks. Exempt registers
    are never renamed. A source without a physical register was never written: it reads as zeros.

    Within a cycle: results are located; a uop that issues takes registers and declares others dead; names of
    operands are looked up; registers are released. All of it works on the state of the clock edge.

    Parameters
    ----------
    config : warps, banks, rows, policy.
    probe : receives `map`, `unmap`, `lookup`, `unwritten`.
    """

    def __init__(self, config: SubCoreConfig, probe: Probe) -> None:
        self._banks = config.banks
        self._registers = config.warp_registers
        self._probe = probe
        self.table = RenamingTable(config.warps)
        self.exempt = Exempt()
        self.names = OperandLookup(self.table, self.exempt)
        self.availability = Availability(
            config.warp_registers, config.mapping.policy, config.subarray_registers
        )
        self.release = Release(config.warps)
        self.reserve = DeadlockReserve(config.warps)
        self.released: list[tuple[int, int]] = []  # places that were released in this cycle

    def launch(self, registers: int, exempt: int, slots: int) -> None:
        """A launch begins after this cycle: registers per thread, the mask of those that are not renamed,
        warp slots that it may use."""
        self.exempt.launch(exempt, slots)
        self.availability.launch(self.exempt.reserved)
        needs = registers - self.exempt.count
        self.reserve.launch(needs, slots * needs <= self._registers - self.exempt.reserved)
        self.table.launch()
        self.release.launch()

    def start(self, warp: int, row: int) -> None:
        """A new warp: its registers are nowhere yet."""

    @property
    def busy(self) -> bool:
        """Something happens here in the next cycle."""
        return self.names.busy or self.release.busy

    def _place(self, physical: int) -> tuple[int, int]:
        return physical % self._banks, physical // self._banks

    def locate(self, warp: int, register: int) -> tuple[int, int]:
        """(bank, row) of a register that has one."""
        place = self.find(warp, register)
        assert place is not None, f"R{register} of warp {warp} has no physical register"
        return place

    def find(self, warp: int, register: int) -> tuple[int, int] | None:
        """(bank, row) of a register; None: it has none."""
        physical = self.exempt.find(warp, register)
        if physical is None:
            physical = self.table.find(warp, register)
        return None if physical is None else self._place(physical)

    def read(self, collector: int, slot: int, warp: int, register: int, tag: int = 0) -> None:
        """A source of a uop is asked for, in slot order."""
        self.names.read(collector, slot, warp, register, tag)

    def new(self, uop: TraceUop) -> list[int]:
        """Destinations of a uop that need a physical register."""
        have = self.table.mapped[uop.warp] | self.exempt.mask
        return [
            register
            for register in range(uop.destination, uop.destination + uop.count)
            if not have >> register & 1
        ]

    def short(self, first: list[TraceUop | None], here: int) -> int:
        """Mask of the warps whose first uop cannot issue: there is no physical register for its result, or
        those of the slot's last warp are still being released. `here`: warps that have uops to issue and do
        not wait at a barrier."""
        served, floor = self.reserve.look(here)
        free = self.availability.free
        mask = self.release.ended
        for warp, uop in enumerate(first):
            if uop is not None and uop.count:
                count = len(self.new(uop))
                if count and count + (0 if warp == served else floor) > free:
                    mask |= 1 << warp
        return mask

    def settle(self, here: int) -> None:
        """The warp that is served first in this cycle goes on being that."""
        self.reserve.first = self.reserve.served(here)

    def settled(self, here: int) -> bool:
        """The warp that is served first is the one of the cycle before."""
        return self.reserve.served(here) == self.reserve.first

    def issue(self, uop: TraceUop) -> None:
        """A uop issues."""
        warp = uop.warp
        new = self.new(uop)
        for register, physical in zip(new, self.availability.take(len(new)), strict=True):
            self.table.enter(warp, register, physical)
            self._report("map", warp, register, physical)
        self.reserve.held[warp] += len(new)
        dead = uop.releases if uop.mask else 0
        for slot, register in enumerate(uop.sources):
            dead |= (uop.dead >> slot & 1) << register
        writes = ((1 << uop.count) - 1) << uop.destination
        self.release.issue(warp, uop.sources, writes, dead & self.table.mapped[warp])

    def operand_read(self, warp: int, register: int) -> None:
        """Release an operand that has been read (scoreboard release interface)."""
        self.release.read(warp, register)

    def written(self, warp: int, mask: int) -> None:
        """Release registers that have been written (scoreboard release interface)."""
        self.release.written(warp, mask)

    def end(self, warp: int) -> None:
        """The warp's last uop retires in this cycle."""
        self.release.end(warp, self.table.mapped[warp])

    def edge(self) -> Group | None:
        """End the cycle at the clock edge. Returns the uop whose operands can be requested."""
        probe = self._probe
        looked_up, group = self.names.step()
        if looked_up:
            probe.counters["renaming.lookups"] += looked_up
            if probe.sink is not None:
                probe.emit("lookup", looked_up)
        if group is not None:
            unwritten = list(group.places.values()).count(None)
            if unwritten:
                probe.counters["renaming.unwritten"] += unwritten
                if probe.sink is not None:
                    probe.emit("unwritten", unwritten)
        self.released = []
        for warp, register in self.release.released():
            physical = self.table.drop(warp, register)
            self.availability.give(physical)
            self.reserve.held[warp] -= 1
            self.released.append(self._place(physical))
            self._report("unmap", warp, register, physical)
        self.table.edge()
        self.availability.edge()
        self.release.edge(self.table.mapped)
        return group

    def place(self, group: Group, slot: int) -> tuple[int, int] | None:
        """(bank, row) of a source; None: it was never written."""
        physical = group.places[slot]
        return None if physical is None else self._place(physical)

    def _report(self, event: str, warp: int, register: int, physical: int) -> None:
        self._probe.counters["renaming.maps" if event == "map" else "renaming.unmaps"] += 1
        if self._probe.sink is not None:
            self._probe.emit(event, warp, register, *self._place(physical))
