"""What must hold in the events of any run, whatever the machine: contracts of the register file, checked
after the fact."""

from __future__ import annotations

from collections import Counter, defaultdict

from warpbank.arch.events import Record
from warpbank.arch.parameters import SmConfig


def check(events: list[Record], config: SmConfig) -> None:
    """Assert the contracts on a run's events."""
    reads: Counter[tuple[int, int, int]] = Counter()
    ports: Counter[tuple[int, int, int]] = Counter()
    writes: Counter[tuple[int, int, int]] = Counter()
    arrivals: Counter[tuple[int, int, int]] = Counter()
    units: Counter[tuple[int, int, int]] = Counter()
    schedulers: Counter[tuple[int, int]] = Counter()
    issued: dict[tuple[int, int], int] = {}
    open_slots: dict[tuple[int, int], set[int]] = defaultdict(set)
    owner: dict[tuple[int, int], tuple[int, ...]] = {}
    for cycle, core, name, values in sorted(events, key=lambda record: record[0]):
        if name == "warp_start":
            issued[core, values[0]] = -1
        elif name == "issue":
            assert values[1] == issued[core, values[0]] + 1, "uops issue in program order"
            issued[core, values[0]] = values[1]
        elif name == "allocate":
            assert (core, values[0]) not in owner, "a collector holds one uop"
            owner[core, values[0]] = values[1:3]
        elif name == "grant":
            bank, _, collector, slot = values
            reads[cycle, core, bank] += 1
            ports[cycle, core, collector] += 1
            assert slot not in open_slots[core, collector], "a slot is read once"
            open_slots[core, collector].add(slot)
        elif name == "write":
            writes[cycle, core, values[0]] += 1
        elif name == "deliver":
            arrivals[cycle, core, values[0]] += 1
        elif name == "dispatch":
            collector, unit = values[:2]
            units[cycle, core, unit] += 1
            assert owner.pop((core, collector)) == values[2:4], "a collector dispatches the uop it took"
            open_slots[core, collector].clear()
        elif name == "scheduler":
            schedulers[cycle, core] += 1
    assert not owner, "every allocated uop dispatches"
    for kind in (reads, ports, writes, arrivals, units):
        assert all(count == 1 for count in kind.values())
    assert not reads.keys() & writes.keys(), "a bank that is written is not read"
    due = {(cycle + 1, core, collector) for cycle, core, collector in ports}
    assert due == set(arrivals), "data comes a cycle after its grant"
    last = max(cycle for cycle, _ in schedulers)
    assert len(schedulers) == (last + 1) * config.schedulers
    assert all(count == 1 for count in schedulers.values())
