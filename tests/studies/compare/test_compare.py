"""Comparisons: numbers by hand, the command, its files, its messages.

Long: every scheme on the Verilator engine equals golden, `pytest -m long tests/studies/compare`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests import readme_output
from tests.cli.command import warpbank
from warpbank.arch.config import preset
from warpbank.arch.errors import ArgumentError, SchemeError
from warpbank.arch.schemes import BASELINE, SCHEMES
from warpbank.program.errors import WarpbankError
from warpbank.program.options import DEFAULT_OPTIONS
from warpbank.sim.runs import Outcome, RunSpec, Task
from warpbank.sim.runs.worker import perform
from warpbank.studies.compare import DEFAULT_KERNELS, DEFAULT_SCHEMES, Comparison, compare
from warpbank.studies.compare.area import areas
from warpbank.studies.compare.measures import MEASURES
from warpbank.studies.compare.page import page, write
from warpbank.studies.compare.published import PUBLISHED, published_ipc
from warpbank.studies.compare.settings import as_published, one_machine

BY_NAME = {measure.name: measure for measure in MEASURES}
OTHERS = [name for name in SCHEMES if name != BASELINE.name]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process, with results of this test alone."""
    monkeypatch.setattr("warpbank.sim.runs.store.folder", lambda: tmp_path / "results")

    def execute(tasks: Iterable[Task], **_: Any) -> list[Outcome]:
        ordered = list(tasks)
        for task in ordered:
            task.check()
        return [perform(task) for task in ordered]

    monkeypatch.setattr("warpbank.studies.compare.run.execute", execute)


def run(cycles: int, **changes: Any) -> dict[str, Any]:
    """A run's report as `measures` reads it."""
    counters = dict.fromkeys(
        (
            "rf.reads",
            "rf.writes",
            "boc.forwards",
            "collector.deliveries",
            "collector.residency",
            "collector.allocations",
            "cache.reads",
            *(
                f"{where}.conflict.{cause}"
                for where in ("rf", "cache")
                for cause in ("write", "port", "queue")
            ),
        ),
        0,
    )
    energy = {"dynamic": {"banks": 3.0, "collectors": 1.0}, "dynamic_total": 4.0, "leakage_total": 6.0}
    return {
        "cycles": cycles,
        "warp_instructions": 100,
        "energy": energy,
        "energy_own": None,
        "base_own": None,
        "stalls": {"issued": cycles // 2, "memory": cycles - cycles // 2},
        **changes,
        "counters": counters | changes.get("counters", {}),
    }


def made() -> Comparison:
    """Two schemes on two kernels."""
    base = {"rf.reads": 100, "rf.writes": 50, "collector.deliveries": 100}
    base |= {"collector.residency": 400, "collector.allocations": 100}
    runs = {
        ("baseline", "a"): run(1000, counters=base | {"rf.conflict.port": 30, "cache.conflict.queue": 20}),
        ("baseline", "b"): run(2000, counters=base),
        ("x", "a"): run(500, warp_instructions=120, counters=base | {"rf.reads": 25, "boc.forwards": 300}),
        ("x", "b"): run(
            4000, counters=base | {"rf.reads": 100, "rf.writes": 100, "collector.residency": 800}
        ),
    }
    return Comparison(("baseline", "x"), ("a", "b"), runs, {}, {"command": "by hand", "size": "tiny"})


def test_measures_by_hand() -> None:
    """IPC is a ratio of cycles, whatever a scheme inserted; conflicts and hits are per operand."""
    table = made()
    assert table.values(BY_NAME["ipc"])["x"] == {"a": 2.0, "b": 0.5}
    assert table.mean(BY_NAME["ipc"], "x") == pytest.approx(1.0)  # geometric
    assert table.values(BY_NAME["rf_reads"])["x"] == {"a": 0.25, "b": 1.0}
    assert table.mean(BY_NAME["rf_reads"], "x") == pytest.approx(0.5)
    assert table.values(BY_NAME["hit_ratio"])["x"] == {"a": 75.0, "b": 0.0}
    assert table.mean(BY_NAME["hit_ratio"], "x") == pytest.approx(37.5)  # arithmetic
    assert table.values(BY_NAME["conflicts"])["baseline"] == {"a": 0.5, "b": 0.0}
    assert table.values(BY_NAME["residency"])["x"] == {"a": 1.0, "b": 2.0}
    assert table.values(BY_NAME["energy_total"])["x"] == {"a": 1.0, "b": 1.0}
    assert table.values(BY_NAME["energy_own"])["x"] == {"a": None, "b": None}
    assert table.mean(BY_NAME["energy_own"], "x") is None
    assert table.structures("x") == {"banks": 0.75, "collectors": 0.25}
    assert table.stalls("x") == pytest.approx({"issued": 2250 / 3000, "memory": 2250 / 3000})


def test_area_is_what_synthesis_recorded() -> None:
    """Units that differ from the baseline's; the numbers of the files, and none where there is no file."""
    found = areas(("baseline", "malekeh", "gscalar", "bow-wr+renaming"))
    assert {"ocu", "direct", "gto"} <= set(found["baseline"])
    assert list(found["malekeh"]) == ["ccu", "cache_aware"]
    assert list(found["gscalar"]) == ["gscalar", "compressor", "decompressor"]
    assert {"boc", "renaming"} <= set(found["bow-wr+renaming"])
    folder = Path(__file__).parents[3] / "synth" / "baselines"
    for unit, known in (part for parts in found.values() for part in parts.items()):
        assert (known is not None) == (folder / f"{unit}.json").exists()
    data = json.loads((folder / "compressor.json").read_text())
    compressor = found["gscalar"]["compressor"]
    assert compressor is not None
    assert compressor["area_um2"] == data["results"][compressor["library"]]["area_um2"] > 5000


def test_a_failed_run_takes_its_kernel_out_of_the_means() -> None:
    whole = made()
    runs = {key: value for key, value in whole.runs.items() if key != ("x", "b")}
    part = Comparison(whole.schemes, whole.kernels, runs, {("x", "b"): "it broke"}, whole.made_by)
    assert part.mean_kernels == ("a",)
    assert part.mean(BY_NAME["ipc"], "x") == pytest.approx(2.0)
    assert part.values(BY_NAME["ipc"])["x"] == {"a": 2.0}
    never = Comparison(
        whole.schemes, whole.kernels, {k: v for k, v in whole.runs.items() if k[0] != "x"}, {}, whole.made_by
    )
    assert never.mean_kernels == ("a", "b")  # a scheme that never ran does not take all kernels with it
    assert never.mean(BY_NAME["ipc"], "x") is None
    assert never.structures("x") == never.stalls("x") == {}
    assert [name for name, _ in page(part).failures] == ["b x"]


def test_values_are_those_of_single_runs(here: None) -> None:
    """The baseline comes first though nobody named it; reads, cycles and energies by hand from the runs
    alone."""
    table = compare(["renaming", "bow-wr"], ["vectoradd"], size="tiny")
    assert table.schemes == ("baseline", "renaming", "bow-wr")
    policy = ("sub_core.front_end.scheduler=gto",)
    alone = {
        scheme: RunSpec("vectoradd", "tiny", scheme, overrides=policy).compute() for scheme in table.schemes
    }
    values = {name: table.values(measure) for name, measure in BY_NAME.items()}
    for scheme, result in alone.items():
        base, counters = alone["baseline"], result["counters"]
        assert values["ipc"][scheme]["vectoradd"] == pytest.approx(base["cycles"] / result["cycles"])
        assert values["rf_reads"][scheme]["vectoradd"] == pytest.approx(
            counters["rf.reads"] / base["counters"]["rf.reads"]
        )
    accesses, lookups = (
        [alone[scheme]["counters"][name] for scheme in ("baseline", "renaming")]
        for name in ("rf.reads", "renaming.lookups")
    )
    writes = [alone[scheme]["counters"]["rf.writes"] for scheme in ("baseline", "renaming")]
    moved = sum(alone["renaming"]["counters"][name] for name in ("renaming.maps", "renaming.unmaps"))
    banks = [8 * 4.68 * (read + written) for read, written in zip(accesses, writes, strict=True)]
    expected = (banks[1] + 1.14 * (lookups[1] + writes[1] + moved)) / banks[0]
    assert values["energy_own"]["renaming"]["vectoradd"] == pytest.approx(expected)
    assert table.made_by["configurations"]


def test_the_command_writes_a_page_and_prints_a_table(
    here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = (
        "compare",
        "--size",
        "tiny",
        "--kernels",
        "vectoradd,nn",
        "--schemes",
        "malekeh,bow",
        "--preset",
        "pascal",
    )
    done = warpbank(*arguments)
    assert done.code == 0, done.err
    assert "Warning" not in done.err
    assert [
        line.split()[0]
        for line in done.out.splitlines()
        if line.split() and line.split()[0] in ("vectoradd", "nn")
    ] == ["vectoradd", "nn"]
    assert sorted(path.name for path in (tmp_path / "warpbank-compare").iterdir()) == [
        "compare.html",
        "compare.json",
    ]
    data = json.loads((tmp_path / "warpbank-compare" / "compare.json").read_text())
    shown = warpbank(*arguments, "--json")
    assert json.loads(shown.out) == data
    assert data["schemes"] == ["baseline", "malekeh", "bow"]
    assert set(data["measures"]) == set(BY_NAME)
    assert len(data["runs"]) == 6
    for row in data["runs"]:
        assert row["counters"]["rf.reads"] > 0
        assert row["energy"]["table"] == "common"
    assert "seconds" not in data["runs"][0]


def test_a_kernel_that_does_not_fit_leaves_the_others(here: None, tmp_path: Path) -> None:
    done = warpbank(
        "compare",
        "--size",
        "tiny",
        "--kernels",
        "nbody,nn",
        "--schemes",
        "bow",
        "--preset",
        "tiny",
        "--set",
        "sub_core.rows=16",
        "--output",
        str(tmp_path / "out"),
    )
    data = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert done.code == 1
    assert "does not fit the machine" in done.err
    assert {failure["kernel"] for failure in data["failures"]} == {"nn"}
    assert data["mean_kernels"] == ["nbody"]
    assert data["measures"]["ipc"]["mean"]["bow"] > 0
    assert "does not fit" in (tmp_path / "out" / "compare.html").read_text()


def test_a_kernel_of_ones_own(here: None, tmp_path: Path) -> None:
    file = Path(__file__).parents[3] / "examples" / "saxpy" / "saxpy.ptx"
    table = compare(["bow"], [str(file)])
    assert not table.failures
    assert table.mean(BY_NAME["rf_reads"], "bow") < 1  # type: ignore[operator]
    write(table, tmp_path / "out")
    assert ">saxpy.ptx<" in (tmp_path / "out" / "compare.html").read_text()


def test_half_written_pages_are_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full while the second file is written: the first is whole, nothing else is there."""
    real = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name.startswith(".compare.json"):
            real(path, content[:10])
            raise OSError(28, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(WarpbankError, match="No space left"):
        write(made(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["compare.html"]


def test_defaults_exist() -> None:
    for spec in (
        RunSpec(kernel, "small", scheme) for kernel in DEFAULT_KERNELS for scheme in DEFAULT_SCHEMES
    ):
        spec.check()


def test_one_scheduler_for_all_but_those_that_need_another() -> None:
    """renaming runs under the baseline's scheduler, Malekeh's extends it, LTRF has a baseline of its own; a
    scheduler that the user names is everybody's."""
    made = one_machine(["ltrf-plus", "renaming", "malekeh"], "turing", ["sub_core.banks=4"], DEFAULT_OPTIONS)
    assert [(each.name, each.scheduler, each.base) for each in made] == [
        ("baseline", "gto", "baseline"),
        ("renaming", "gto", "baseline"),
        ("malekeh", "cache_aware", "baseline"),
        ("baseline two_level", "two_level", "baseline"),
        ("ltrf-plus", "two_level", "baseline two_level"),
    ]
    assert all("sub_core.banks=4" in each.overrides for each in made)
    named = ["sub_core.front_end.scheduler=two_level"]
    made = one_machine(["ltrf-plus", "renaming", "malekeh"], "turing", named, DEFAULT_OPTIONS)
    assert {(each.scheduler, each.base) for each in made} == {("two_level", "baseline")}


def test_cache_aware_scheduling_of_a_baseline_is_the_baselines(here: None) -> None:
    """So that one baseline serves both: without values in collectors the policies are one."""
    policy = "sub_core.front_end.scheduler=cache_aware"
    runs = [RunSpec("vectoradd", "tiny", "baseline", overrides=each).compute() for each in ((), (policy,))]
    assert runs[0]["cycles"] == runs[1]["cycles"]


def test_each_scheme_on_the_machine_of_its_paper() -> None:
    made = {each.name: each for each in as_published([row for row in SCHEMES if row != BASELINE.name])}
    assert {row for row in SCHEMES if row != BASELINE.name} < set(made)
    for each in made.values():
        base = made[each.base]
        assert base.scheme == BASELINE.name
        assert (each.preset, each.options) == (base.preset, base.options)
        assert each.scheduler in (base.scheduler, "cache_aware")
    banks = [made[name].config.sub_core for name in ("ltrf-plus", "baseline of LTRF")]
    assert [core.bank_latency for core in banks] == [630, 100]
    cache = preset("maxwell").sub_core.cache.registers * preset("maxwell").sub_core.active_warps
    assert banks[1].warp_registers - preset("maxwell").sub_core.warp_registers == cache
    assert made["gscalar"].options.constants == "registers"
    with pytest.raises(SchemeError, match="No paper has published bow\\+gscalar"):
        as_published(["bow+gscalar"])
    with pytest.raises(ArgumentError, match="leave --preset"):
        compare(["bow"], ["nn"], preset="turing", published=True)


def test_published_gains_are_those_of_the_papers() -> None:
    assert published_ipc("bow-wr") == pytest.approx(1.13)
    assert published_ipc("renaming") == pytest.approx(1 / 1.01)
    assert published_ipc("bow-wr+renaming") is None
    for machine in PUBLISHED.values():
        assert all(published_ipc(scheme) for scheme in machine.ipc)


def test_values_are_of_the_baseline_under_the_same_scheduler(here: None) -> None:
    table = compare(["ltrf"], ["vectoradd"], size="tiny")
    policy = ("sub_core.front_end.scheduler=two_level",)
    base, own = (
        RunSpec("vectoradd", "tiny", scheme, overrides=overrides).compute()["cycles"]
        for scheme, overrides in (("baseline", policy), ("ltrf", ()))
    )
    assert table.values(BY_NAME["ipc"])["ltrf"]["vectoradd"] == pytest.approx(base / own)
    said = " ".join(table.sentences)
    assert said.startswith("Machine turing, warp scheduler gto, 1 kernel at tiny")
    assert "ltrf works under two_level scheduling only" in said
    assert "Not shown:" in said
    assert table.to_dict()["settings"]["ltrf"]["relative_to"] == "baseline two_level"


def test_as_published_command(here: None, tmp_path: Path) -> None:
    arguments = ("--schemes", "renaming,bow", "--kernels", "vectoradd", "--size", "tiny", "--as-published")
    done = warpbank("compare", *arguments, "--output", str(tmp_path / "out"))
    assert done.code == 0, done.err
    words = done.out.split()
    assert "fermi-renaming" in words
    assert "pascal" in words
    assert words.count("source") == 2
    data = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert data["schemes"] == ["renaming", "bow"]
    assert {run["column"] for run in data["runs"]} == {
        "baseline of Jeon and Annavaram",
        "renaming",
        "baseline of BOW",
        "bow",
    }
    assert "--as-published" in data["made_by"]["command"]
    assert "fermi-renaming" in (tmp_path / "out" / "compare.html").read_text()


def test_readme_shows_the_columns_and_sentences_that_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Numbers left out, since nothing runs here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(readme_output.COLUMNS))
    monkeypatch.setattr(
        "warpbank.studies.compare.run.execute",
        lambda tasks, **_: [Outcome(task, None, "not run") for task in tasks],
    )
    done = warpbank(*readme_output.COMMAND[1:])
    left, right = (
        re.sub(r"\s+", " ", re.sub(r"\d+\.\d+|–|─", "", text)) for text in (done.out, readme_output.shown())
    )
    assert left.strip() == right.strip()
    assert re.search(r"^ IPC +1\.000( +\d\.\d{3}){4}", readme_output.shown(), re.MULTILINE)


@pytest.mark.long
def test_readme_shows_what_the_command_prints() -> None:
    assert readme_output.printed() == readme_output.shown()


@pytest.mark.long
@pytest.mark.parametrize("schemes", [OTHERS[first : first + 2] for first in range(0, len(OTHERS), 2)])
def test_verilator_gives_what_golden_gives(schemes: list[str], here: None) -> None:
    """Every number of the comparison, to the last digit."""
    both = [
        compare(
            schemes,
            ["vectoradd", "reduction"],
            size="tiny",
            preset="tiny",
            overrides=["sub_core.rows=256"],
            engine=engine,
        )
        for engine in ("golden", "verilator")
    ]
    for table in both:
        assert not table.failures
    golden, verilator = (table.to_dict() for table in both)
    for key in ("schemes", "kernels", "mean_kernels", "measures", "energy_structures", "stalls"):
        assert golden[key] == verilator[key]
    for left, right in zip(golden["runs"], verilator["runs"], strict=True):
        assert left | {"engine": "", "model": ""} == right | {"engine": "", "model": ""}
