"""Energy: sums by hand, scheme rows, and the messages of wrong tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import EVENTS, Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.collector.boc import Boc
from warpbank.golden.sm import simulate
from warpbank.golden.storage.bdi import Delta
from warpbank.golden.storage.bdi_banks import BdiBanks
from warpbank.golden.storage.gscalar import GScalar
from warpbank.golden.storage.metadata import CompressedBanks, Metadata
from warpbank.program import runner
from warpbank.program.errors import WarpbankError
from warpbank.program.hint_passes import with_hints
from warpbank.synth.energy import energy, read_table, table, tables
from warpbank.synth.energy.table import parse_table

ROW = """
[[event]]
structure = "banks"
counters = ["rf.reads", "rf.writes"]
picojoules = 10
node_nm = 28
tool = "by hand"
source = "this test"
"""
LEAK = """
[[leakage]]
structure = "rows"
amount = 2
per = "bank"
milliwatts = 3
node_nm = 28
tool = "by hand"
source = "this test"
"""
HEAD = 'title = "a test"\nclock_mhz = 500\n'


def _result(scheme: str = "baseline", cycles: int = 1000, **counters: int) -> dict[str, object]:
    """What a run would give; counters by name with `_` for the dot."""
    counted = dict.fromkeys(COUNTERS, 0) | {
        name.replace("_", ".", 1): count for name, count in counters.items()
    }
    return {"scheme": scheme, "cycles": cycles, "counters": counted}


def test_sums_by_hand() -> None:
    """BOW on its machine: 32 banks of 8 KB, 32 BOCs of 12 entries."""
    result = _result(
        "bow-wr", 2000, rf_reads=100, rf_writes=50, collector_deliveries=100, boc_forwards=40, boc_writes=60
    )
    spent = energy(result, table("bow"), preset("pascal"))
    assert spent.dynamic == pytest.approx(
        {
            "banks": 150 * 185.26,
            "collectors": (100 + 60) * 2.72 + (100 + 40) * 2.72,  # written, read
            "network": 60 * 2.075,
        }
    )
    assert spent.leakage == pytest.approx(
        {"banks": 4 * 111.84 * 2000, "collectors": 32 * 1.11 * 2000}
    )  # mW x ns
    assert spent.dynamic_total == pytest.approx(sum(spent.dynamic.values()))
    assert spent.leakage_total == pytest.approx(sum(spent.leakage.values()))


def test_leakage_follows_the_machine_and_the_scheme() -> None:
    """Half of the entries leak half; the scheme's own collectors are counted, not those of the preset."""
    half = with_overrides(preset("pascal"), ["sub_core.collector.boc_entries=half"])
    assert energy(_result("bow"), table("bow"), half).leakage["collectors"] == pytest.approx(16 * 1.11 * 1000)
    turing = energy(_result("bow"), table("bow"), preset("turing"))
    assert turing.leakage["collectors"] == pytest.approx(
        32 * 1.11 * 1000
    )  # 8 collectors, one per warp with the scheme


def test_rows_of_other_schemes_do_not_count() -> None:
    spent = energy(_result(rf_reads=3, collector_deliveries=3), table("bow"), preset("pascal"))
    assert spent.dynamic == pytest.approx({"banks": 3 * 185.26})
    assert set(spent.leakage) == {"banks"}


def test_clock_turns_cycles_into_time(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(HEAD + ROW + ROW + LEAK)
    spent = energy(_result(rf_reads=2, rf_writes=1), read_table(tmp_path / "mine.toml"), preset("turing"))
    assert spent.dynamic == {"banks": 60.0}  # two rows of one structure add up
    assert spent.leakage == {"rows": pytest.approx(3 * 8 / 2 * 2000)}  # 1000 cycles at 500 MHz are 2000 ns
    assert spent.table == "mine"


def test_a_price_that_grows_with_the_machine() -> None:
    row = ROW + 'per = "crossbar_side"\namount = 5\n'
    machine = with_overrides(preset("turing"), ["sub_core.collectors=7", "sub_core.banks=8"])
    plain, grown = (parse_table("t", HEAD + each) for each in (ROW, row))
    counted = _result(rf_reads=2, rf_writes=1)
    assert (
        energy(counted, grown, machine).dynamic["banks"]
        == 3 * energy(counted, plain, machine).dynamic["banks"]
    )


def test_a_row_takes_off_what_less_counts() -> None:
    made = parse_table("t", HEAD + ROW + 'less = ["rf.write_backs"]\n')
    counted = _result(rf_reads=4, rf_writes=3, rf_write_backs=2)
    assert energy(counted, made, preset("turing")).dynamic == {"banks": 50.0}


def test_a_row_for_some_hierarchies() -> None:
    made = parse_table("t", HEAD + ROW + 'hierarchies = ["flat", "ltrf"]\n')
    spent = {
        scheme: energy(_result(scheme, rf_reads=1), made, preset("maxwell")).dynamic
        for scheme in ("baseline", "ltrf-strand", "ltrf-plus", "rfc")
    }
    assert spent == {"baseline": {"banks": 10.0}, "ltrf-strand": {"banks": 10.0}, "ltrf-plus": {}, "rfc": {}}


def test_missing_counter_names_the_row() -> None:
    text = HEAD + ROW.replace('"rf.writes"', '"boc.write"') + 'room = "collector"\nunits = ["boc"]\n'
    made = parse_table("t", text)
    assert energy(_result(), made, preset("turing")).dynamic == {}
    with pytest.raises(
        WarpbankError,
        match=r"t, event\[0\] \(banks\): the run of bow-wr has no counter 'boc.write'; .*mean boc.writes",
    ):
        energy(_result("bow-wr"), made, preset("turing"))


@pytest.mark.parametrize("name", tables())
def test_shipped_tables(name: str) -> None:
    """Every row says where it comes from, and the baseline can be priced."""
    made = table(name)
    assert all(row.tool and row.source and row.node_nm for row in (*made.events, *made.leakage))
    assert energy(_result(rf_reads=1), made, preset("turing")).dynamic["banks"] > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "is not TOML"),
        (ROW, "the key 'title' is missing"),
        ('title = "x"\nclock_mhz = 0\n' + ROW, "clock_mhz: must be a number from 1e-12 to 1e\\+12, and is 0"),
        (HEAD, "a table has at least one row"),
        (HEAD + "color = 1\n" + ROW, "color: there is no such key"),
        (
            HEAD + ROW.replace("rf.reads", "rf.read"),
            r"event\[0\].counters: Unknown counter 'rf.read'. Did you mean rf.reads",
        ),
        (HEAD + ROW.replace("10", "-1"), r"event\[0\].picojoules: must be zero or a number from"),
        (HEAD + ROW.replace("10", "1e300"), r"picojoules: must be zero or a number from .* and is 1e\+300"),
        (HEAD.replace("500", "1e-300") + ROW, "clock_mhz: must be a number from"),
        (HEAD + ROW.replace("10", "nan"), "picojoules: must be zero or a number"),
        (HEAD + ROW.replace('"this test"', '" "'), "source: must not be empty"),
        (HEAD + ROW.replace("28", "0"), "node_nm: must be the node in nanometres"),
        (HEAD + ROW.replace('["rf.reads", "rf.writes"]', "[]"), "a row names at least one counter"),
        (HEAD + ROW.replace('["rf.reads", "rf.writes"]', "[1]"), "counters: must be a list of strings"),
        (HEAD + ROW + 'room = "cellar"\nunits = ["x"]\n', "there is no room 'cellar'"),
        (
            HEAD + ROW + 'room = "storage"\nunits = ["plan"]\n',
            r"event\[0\].units: Unknown unit of storage 'plan'. Did you mean plain",
        ),
        (HEAD + ROW + 'room = "storage"\n', "has one of the keys 'room' and 'units'"),
        (
            HEAD + ROW + 'less = ["rf.read"]\n',
            r"event\[0\].less: Unknown counter 'rf.read'. Did you mean rf.reads",
        ),
        (
            HEAD + ROW + 'hierarchies = ["ltfr"]\n',
            r"event\[0\].hierarchies: Unknown unit of hierarchy 'ltfr'. Did you mean ltrf",
        ),
        (HEAD + LEAK + 'less = ["rf.reads"]\n', r"leakage\[0\].less: there is no such key"),
        (HEAD + ROW + LEAK.replace('"bank"', '"mile"'), "there is no amount 'mile'"),
        (HEAD + ROW + LEAK.replace("2", "0", 1), "amount: must be a number from"),
        (HEAD + ROW + 'per = "mile"\n', r"event\[0\].per: there is no amount 'mile'"),
        (
            HEAD + ROW + "amount = 2\n",
            r"event\[0\].amount: is an amount of 'per', which the row does not have",
        ),
        (
            HEAD + ROW + LEAK.replace("amount", "amounts"),
            "amounts: there is no such key; did you mean 'amount'",
        ),
    ],
)
def test_wrong_tables(text: str, message: str) -> None:
    with pytest.raises(WarpbankError, match=message):
        parse_table("wrong", text)


def test_a_table_of_the_users_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for title in ("first", "second"):
        file.write_text(HEAD.replace("a test", title) + ROW)
        assert table(str(file)).title == title


def test_unknown_table_and_file(tmp_path: Path) -> None:
    with pytest.raises(WarpbankError, match=r"Unknown energy table 'bwo'\. Did you mean bow"):
        table("bwo")
    with pytest.raises(WarpbankError, match="cannot read the energy table"):
        table(str(tmp_path / "none.toml"))


def test_run_reports_energy() -> None:
    done = warpbank("run", "vectoradd", "--size", "tiny", "--preset", "pascal", "--energy", "bow", "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    accesses = data["counters"]["rf.reads"] + data["counters"]["rf.writes"]
    assert accesses > 0
    assert data["energy"]["table"] == "bow"
    assert data["energy"]["dynamic"] == pytest.approx({"banks": accesses * 185.26})
    assert data["energy_own"] == []  # asked for
    shown = warpbank("run", "vectoradd", "--size", "tiny", "--scheme", "renaming")
    assert "Register file energy (table common, 1000 MHz)" in shown.out
    assert "Register file energy (table renaming, 1000 MHz)" in " ".join(shown.out.split())
    refused = warpbank("run", "vectoradd", "--size", "tiny", "--energy", "bwo")
    assert refused.code == 2
    assert "Unknown energy table" in refused.err


def test_compressed_banks_by_hand() -> None:
    """Six reads and five writes that activate thirty of their 88 arrays."""
    counters = {
        "rf_reads": 6,
        "rf_writes": 5,
        "collector_deliveries": 6,
        "rf_arrays.read": 10,
        "rf_arrays.write": 20,
    }
    spent = energy(_result("gscalar", **counters), table("common"), preset("turing"))
    assert spent.dynamic == pytest.approx(
        {
            "banks": 30 * 23.16,
            "base array": 11 * 9.63,
            "compressor": 5 * 8.11,
            "decompressor": 6 * 7.93,
            "collectors": 2 * 6 * 2.72,
            "network": 6 * 2.075,
        }
    )
    assert spent.leakage["base array"] == pytest.approx(4 * 4.15 * 1000)  # 256 KB of banks


@pytest.mark.parametrize(
    ("scheme", "storage", "enc"),
    [
        ("gscalar", GScalar, (0,)),
        ("gscalar-half", partial(GScalar, parts=2), (0, 0)),
        ("bdi", BdiBanks, (Delta.RAW,)),
    ],
)
@pytest.mark.parametrize(("machine", "lanes"), [("tiny", 4), ("turing", 32)])
def test_a_bank_of_few_lanes_is_a_bank(
    scheme: str, storage: Callable[..., CompressedBanks], enc: tuple[int, ...], machine: str, lanes: int
) -> None:
    """What is not compressed activates all arrays of a bank, and costs what a plain bank costs."""
    assert preset(machine).lanes == lanes
    arrays = storage(preset(machine).sub_core, lanes).arrays_read(Metadata(False, enc, False, (0,)))
    counters = {"rf_reads": 6, "rf_writes": 5, "rf_arrays.read": 6 * arrays, "rf_arrays.write": 5 * arrays}
    plain, packed = (
        energy(_result(name, **counters), table("common"), preset(machine)) for name in ("baseline", scheme)
    )
    assert packed.dynamic["banks"] == pytest.approx(plain.dynamic["banks"], rel=1e-3)


def test_a_cache_over_compressed_banks_by_hand() -> None:
    """Ten reads and five writes of the cache, four registers fetched, three written back: nothing is charged
    as a plain bank."""
    counters = {
        "rf_reads": 4,
        "rf_writes": 3,
        "rf_write_backs": 3,
        "collector_deliveries": 10,
        "cache_reads": 10,
        "cache_writes": 5,
        "cache_fills": 4,
        "rf_arrays.read": 9,
        "rf_arrays.write": 7,
    }
    spent = energy(_result("ltrf+gscalar", **counters), table("common"), preset("maxwell"))
    assert spent.dynamic == pytest.approx(
        {
            "banks": 16 * 23.16,
            "base array": 7 * 9.63 + 19 * 0.101,
            "compressor": 8 * 8.11,
            "decompressor": 4 * 7.93,
            "register file cache": 22 * 2.72,
            "network": (10 + 7) * 2.075,
            "warp control blocks": 22 * 0.013,
            "collectors": 2 * 10 * 2.72,
        }
    )


def test_a_register_file_cache_by_hand() -> None:
    """Ten reads and five writes of the cache; four registers fetched, three written back, four placed by two
    PREFETCHes."""
    counters = {
        "rf_reads": 4,
        "rf_writes": 3,
        "rf_write_backs": 3,
        "collector_deliveries": 10,
        "cache_reads": 10,
        "cache_writes": 5,
        "cache_fills": 4,
        "cache_fetches": 4,
        "cache_allocations": 4,
        "cache_prefetches": 2,
    }
    spent = energy(_result("ltrf", **counters), table("common"), preset("maxwell"))
    assert spent.dynamic == pytest.approx(
        {
            "banks": 7 * 185.26,
            "register file cache": 22 * 2.72,
            "network": (10 + 7) * 2.075,
            "warp control blocks": 26 * 0.013 + 2 * 1.36,
            "collectors": 2 * 10 * 2.72,
        }
    )
    assert spent.leakage["register file cache"] == pytest.approx(
        16 * 0.74 * 1000
    )  # 16 registers of 8 warps, 128 B each


def test_renaming_by_hand() -> None:
    counters = {
        "rf_reads": 6,
        "rf_writes": 5,
        "renaming_lookups": 7,
        "renaming_maps": 4,
        "renaming_unmaps": 3,
        "renaming_flag_hits": 2,
        "renaming_flag_fetches": 1,
    }
    spent = energy(_result("renaming", **counters), table("renaming"), preset("fermi"))
    assert spent.dynamic == pytest.approx({"banks": 11 * 8 * 4.68, "tables": 19 * 1.14})
    common = energy(_result("renaming", **counters), table("common"), preset("fermi"))
    assert common.dynamic["flag cache"] == pytest.approx(3 * 0.143)


def test_a_caching_collector_pays_for_tags_and_slots() -> None:
    """Ten sources, four of them found; five results, two of them kept."""
    counters = {"rf_reads": 6, "rf_writes": 5, "collector_deliveries": 6, "boc_forwards": 4, "boc_writes": 2}
    spent = energy(_result("malekeh", **counters), table("common"), preset("turing"))
    assert spent.dynamic == pytest.approx(
        {
            "banks": 11 * 185.26,
            "collectors": (6 + 2 + 10) * 2.72,
            "network": 8 * 2.075,
            "tags": (10 + 5) * 0.17,
            "operand table": 2 * 10 * 0.013,
        }
    )
    assert "tags" not in energy(_result("baseline", **counters), table("common"), preset("turing")).dynamic
    bow = energy(_result("bow", **counters), table("common"), preset("turing"))
    assert bow.dynamic["tags"] == pytest.approx((10 + 2) * 0.255)


def _run(scheme: str) -> tuple[dict[str, float], Counter[str]]:
    """Dynamic energy of a run, and how often each event came; a field's sum by `event.field`."""
    config, named = preset("maxwell"), parse_scheme(scheme)
    job = workloads.get("reduction").job("tiny")
    trace = with_hints(runner.trace_job(job), named.hints, config, lambda: runner.compile_job(job))
    events: list[Record] = []
    result = simulate(trace, config, named, events=events)
    happened: Counter[str] = Counter()
    for _, _, name, values in events:
        happened[name] += 1
        for (field, _), value in zip(EVENTS[name].fields, values, strict=True):
            happened[f"{name}.{field}"] += value
    counted = {"scheme": scheme, "cycles": result.cycles, "counters": result.counters}
    return energy(counted, table("common"), config).dynamic, happened


def _spent(happened: Counter[str], *events: str) -> int:
    return sum(happened[event] for event in events)


def _with_cache(happened: Counter[str]) -> dict[str, float]:
    """What any scheme over LTRF's cache spends, from its events."""
    accesses = _spent(happened, "cache_grant", "cache_write", "cache_fill", "write_back")
    crossing = _spent(happened, "deliver", "collector_write", "cache_fill", "write_back")
    return {
        "banks": _spent(happened, "grant", "fetch", "write", "write_back") * 185.26,
        "register file cache": (accesses + happened["cache_zero"]) * 2.72,
        "network": crossing * 2.075,
        "warp control blocks": (accesses + happened["cache_allocate"]) * 0.013 + happened["prefetch"] * 1.36,
        "collectors": _spent(happened, "deliver", "deliver", "collector_write", "forward.count") * 2.72,
    }


def test_renaming_below_a_cache_from_events() -> None:
    """A register that leaves the cache is looked up once, when it sets off."""
    spent, happened = _run("ltrf+renaming")
    assert happened["lookup.count"] == _spent(happened, "fetch", "write_back")
    looked_up = _spent(happened, "fetch", "write_back", "write")
    assert spent == pytest.approx(
        _with_cache(happened)
        | {
            "tables": (looked_up + _spent(happened, "map", "unmap")) * 0.8,
            "flag cache": _spent(happened, "flag_hit", "flag_fetch") * 0.143,
        }
    )
    assert spent["tables"] == pytest.approx(1364.8)


def test_renaming_below_a_cache_of_results_from_events() -> None:
    spent, happened = _run("rfc+renaming")
    assert happened["write_back"] > 0
    assert spent["tables"] == pytest.approx(_spent(happened, "lookup.count", "write", "map", "unmap") * 0.8)


@pytest.mark.parametrize("scheme", ["ltrf+malekeh", "rfc+malekeh"])
def test_a_caching_collector_over_a_cache_from_events(scheme: str) -> None:
    """Results meet the collector's tags wherever they go; what leaves the cache does not."""
    spent, happened = _run(scheme)
    sources = _spent(happened, "deliver", "forward.count")
    results = _spent(happened, "cache_write", "write")
    assert (sources, results) == (924, 567)  # as without a cache
    own = {"tags": (sources + results) * 0.17, "operand table": 2 * sources * 0.013}
    if scheme == "ltrf+malekeh":
        assert spent == pytest.approx(_with_cache(happened) | own)
    else:  # rfc has tags of its own
        both = _spent(happened, "deliver", "cache_write", "write", "write_back") * 0.34
        both += happened["cache_allocate"] * 0.021
        assert spent["tags"] == pytest.approx(own["tags"] + both)


def test_a_window_over_a_cache_from_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """What leaves the cache is not read in a window. What leaves a window is charged, and a little more."""
    left = 0
    take = Boc.written_back

    def written_back(self: Boc) -> None:
        nonlocal left
        left += 1
        take(self)

    monkeypatch.setattr(Boc, "written_back", written_back)
    spent, happened = _run("ltrf+bow-wr")
    ended = _spent(happened, "discard.overwritten", "discard.transient")
    charged = happened["collector_write"] - ended
    expected = _with_cache(happened)
    expected["collectors"] += charged * 2.72
    tags = _spent(happened, "deliver", "forward.count", "collector_write")
    assert spent == pytest.approx(expected | {"tags": tags * 0.255})
    assert (left, charged, happened["write_back"]) == (166, 178, 691)
