"""The common table leaves nothing out silently: every event of every scheme is priced, or listed as free with
a reason."""

from __future__ import annotations

import pytest

from warpbank.arch.events import EVENTS
from warpbank.arch.schemes import SCHEMES, parse_scheme
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.events import NAMES, Batch
from warpbank.synth.energy import energy, table, tables

#: Its run shows what a scheme does: divergence, barriers, loops, stores.
KERNEL = "reduction"


def test_every_event_is_priced_or_free() -> None:
    common = table("common")
    free = [event for row in common.free for event in row.events]
    assert len(free) == len(set(free)), "an event is listed twice"
    priced = set().union(*(common.priced(parse_scheme(name)) for name in SCHEMES))
    assert not priced & set(free), "what is priced is not free"
    assert set(EVENTS) == priced | set(free)


@pytest.mark.parametrize("name", SCHEMES)
def test_events_of_a_run_are_priced_for_its_scheme(name: str) -> None:
    """What happens in real runs: the row that prices it must be one that applies to this scheme."""
    scheme, common = parse_scheme(name), table("common")
    seen: set[str] = set()

    def see(batch: Batch) -> None:
        seen.update(NAMES[number] for number in set(batch.records["event"].tolist()))

    free = {event for row in common.free for event in row.events}
    experiment = exp.find(
        KERNEL, "tiny", None, "tiny", None, name, ["sub_core.rows=256"], None, MAX_INSTRUCTIONS
    )
    report = exp.run(experiment, Recorded(see))
    spent = energy(report.to_dict(), common, experiment.config)
    assert all(value > 0 for value in spent.dynamic.values()), spent.dynamic
    assert all(value > 0 for value in spent.leakage.values())
    assert len(seen) > 10
    assert seen <= common.priced(scheme) | free, (
        f"neither priced nor free: {sorted(seen - common.priced(scheme) - free)}"
    )


class Recorded(GoldenEngine):
    """The golden engine, its events seen."""

    def __init__(self, sink) -> None:  # type: ignore[no-untyped-def]
        super().__init__()
        self._sink = sink

    def run(self, trace, config, scheme, **options):  # type: ignore[no-untyped-def]
        return super().run(trace, config, scheme, **{**options, "events": self._sink})


def test_tables_cover_the_schemes_of_their_papers() -> None:
    """`common` covers all; the others what they were printed for, and the baseline."""
    covered = {
        name: {scheme for scheme in SCHEMES if table(name).covers(parse_scheme(scheme))} for name in tables()
    }
    assert covered["common"] == set(SCHEMES)
    assert covered["bow"] == covered["bow-network"] == {"baseline", "bow", "bow-wb", "bow-wr"}
    assert covered["gscalar"] == {"baseline", "gscalar", "gscalar-half", "bdi", "scalar-rf"}
    assert covered["renaming"] == {"baseline", "renaming"}


def test_every_structure_of_a_scheme_says_where_it_comes_from() -> None:
    """Numbers that no paper prints are marked as ours, and say what they are made from."""
    for name in tables():
        for row in (*table(name).events, *table(name).leakage):
            assert row.node_nm in (28, 40)
            assert any(word in row.source for word in ("Table", "section")), row.source
            if "by bits" in row.tool:
                assert row.source.startswith("ours: ")
