"""Sweeps: descriptions and their mistakes, the Parquet file, kills, failures.

Long: 500 runs killed three times, `pytest -m long tests/studies/sweep`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.arch.counters import COUNTERS
from warpbank.arch.overrides import field_paths
from warpbank.arch.presets import preset
from warpbank.program.errors import WarpbankError
from warpbank.program.options import CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim.runs import RunSpec
from warpbank.sim.runs.worker import perform
from warpbank.studies.sweep import Sweep, read_sweep, sweep, write
from warpbank.studies.sweep.table import FIELD, columns

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test alone, for worker processes too."""
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_points_are_all_combinations_in_order() -> None:
    made = Sweep(
        ("nn", "bfs"),
        ("baseline", "bow"),
        presets=("tiny",),
        fields={"sub_core.collector.window": (2, 3), "l1.latency": (20, 30)},
    )
    specs = [spec for spec, _ in made.points()]
    assert len(specs) == len(made) == 16
    assert len(set(specs)) == 16
    assert specs[0] == RunSpec(
        "nn", "small", "baseline", "tiny", ("sub_core.collector.window=2", "l1.latency=20")
    )
    assert specs[1].overrides == ("sub_core.collector.window=2", "l1.latency=30")
    assert specs[-1].kernel == "bfs"


def test_fields_of_a_scheme(tmp_path: Path) -> None:
    """The baseline runs once for all windows of BOW, and has no window in the table."""
    file = tmp_path / "s.toml"
    file.write_text(
        'kernels = ["nn"]\nschemes = ["baseline", "bow"]\npreset = ["tiny", "own.toml"]\n'
        '[fields]\n"sub_core.banks" = [2, 4]\n'
        '[scheme_fields.bow]\n"sub_core.collector.window" = [2, 3, 4]\n',
        encoding="utf-8-sig",
    )
    (tmp_path / "own.toml").write_text('preset = "tiny"\n[l1]\nlatency = 30\n')
    made = read_sweep(file)
    points = list(made.points())
    assert len(made) == 2 * (2 + 2 * 3)
    assert {spec.preset for spec, _ in points} == {"tiny", str(tmp_path / "own.toml")}
    assert points[0][0].experiment().config.l1.latency != points[2][0].experiment().config.l1.latency
    assert [chosen for spec, chosen in points if spec.scheme == "baseline"][:2] == [
        {"sub_core.banks": 2},
        {"sub_core.banks": 4},
    ]
    windows = [chosen["sub_core.collector.window"] for spec, chosen in points if spec.scheme == "bow"]
    assert windows == [2, 3, 4] * 4
    kinds = columns(made)
    assert kinds["field.sub_core.collector.window"] == "int"
    assert list(kinds).count("field.sub_core.banks") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[scheme_fields]\nbow = 3\n", "scheme_fields.bow"),
        ('[scheme_fields.bow]\n"sub_core.bank" = [4]\n', "Did you mean banks?"),
        ('[scheme_fields.bow]\n"sub_core.banks" = ["x"]\n', "whole numbers"),
        ('[scheme_fields.bow]\n"sub_core.banks" = [4, 4]\n', "twice"),
        ('[scheme_fields.bow]\n"sub_core.banks" = []\n', "several values"),
        ('[fields]\n"l1.latency" = 20\n[scheme_fields.bow]\n"l1.latency" = 30\n', "leave one out"),
        ('[scheme_fields.malekeh]\n"sub_core.banks" = [4]\n', "scheme of this sweep"),
    ],
)
def test_wrong_fields_of_a_scheme(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(f'kernels = ["nn"]\nschemes = ["baseline", "bow"]\n{text}')
    with pytest.raises(WarpbankError) as refused:
        read_sweep(file)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'kernels = "nn"\nschemes = ["bow"]\nsize = ["tiny", "small"]\npreset = "pascal"\n'
        'max_registers = [16, 32]\ncode_order = "source"\nfree_registers = [0, 24]\n'
        '[fields]\n"sub_core.banks" = 4\n[fields.sub_core.collector]\nboc_entries = ["half", 12]\n'
    )
    assert read_sweep(tmp_path / "s.toml") == Sweep(
        ("nn",),
        ("bow",),
        ("tiny", "small"),
        ("pascal",),
        {"sub_core.banks": (4,), "sub_core.collector.boc_entries": ("half", 12)},
        (16, 32),
        ("source",),
        free_registers=(0, 24),
    )


def test_compile_options_are_crossed() -> None:
    made = Sweep(("nn",), code_order=("source",), constants=("bank", "registers"), free_registers=(0, 24))
    options = [spec.compile for spec, _ in made.points()]
    assert options == [
        CompileOptions(CodeOrder.SOURCE, place, free) for place in ConstantPlace for free in (0, 24)
    ]


def test_a_group_stands_for_its_kernels(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('kernels = ["nn", "deep-learning"]\n')
    assert read_sweep(tmp_path / "s.toml").kernels == ("nn", *workloads.names("deep-learning"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernels = ", "is not TOML"),
        ("", "s.toml: kernels: names at least one kernel"),
        ('kernel = ["nn"]', "s.toml: kernel: there is no such key; did you mean 'kernels'?"),
        ('kernels = ["nn"]\nmax_register = 32', "there is no such key; did you mean 'max_registers'?"),
        ("kernels = [1]", "takes names in quotes, not 1"),
        ('kernels = ["vectorad"]', "s.toml: Unknown kernel 'vectorad'. Did you mean vectoradd"),
        ('kernels = ["nn"]\nschemes = ["bwo"]', "Unknown scheme 'bwo'"),
        ('kernels = ["nn"]\nscheme = ["bow"]', "scheme: there is no such key; did you mean 'schemes'"),
        ('kernels = ["nn"]\npreset = "turin"', "Unknown preset"),
        ('kernels = ["nn"]\nengine = "spice"', "Unknown engine"),
        ('kernels = ["nn", "nn"]', "kernels has a value twice"),
        ('kernels = ["nn"]\nschemes = []', "schemes has no values"),
        ('kernels = ["nn"]\nmax_registers = 4', "takes a whole number from 16 to 255, not 4"),
        ('kernels = ["nn"]\nfree_registers = 300', "takes a whole number from 0 to 255, not 300"),
        ('kernels = ["nn"]\ncode_order = "sauce"', "Unknown code_order 'sauce'. Did you mean source"),
        ('kernels = ["nn"]\nconstants = 3', "Unknown constants '3'"),
        ('kernels = ["nn"]\n[fields]\n"sub_core.bank" = [1]', "field of sub_core 'bank'. Did you mean banks"),
        (
            'kernels = ["nn"]\n[fields]\n"sub_core.banks" = ["four"]',
            "sub_core.banks takes whole numbers, such as 2, not 'four'",
        ),
        ('kernels = ["nn"]\n[fields]\n"sub_core.banks" = [1.5]', "takes whole numbers or strings, not 1.5"),
        (
            'kernels = ["nn"]\n[scheme_fields.bow]\n"sub_core.banks" = [true]',
            "s.toml: scheme_fields.bow.sub_core.banks: takes whole numbers or strings, not True",
        ),
        (
            f'kernels = ["nn"]\n[fields]\n"l1.latency" = [20, {1 << 63}]',
            f"l1.latency takes whole numbers of at most 64 bits, not {1 << 63}",
        ),
    ],
)
def test_mistakes_are_one_sentence(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    done = warpbank("sweep", str(tmp_path / "s.toml"), "--output", str(tmp_path / "s.parquet"))
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert done.err.count("s.toml") <= 1
    assert not (tmp_path / "s.parquet").exists()


def test_the_file_has_every_run_with_its_numbers(cache: Path, tmp_path: Path) -> None:
    """Runs that cannot be are rows too: impossible machines, and kernels that do not fit. They do not stop
    the others."""
    made = Sweep(
        ("nbody", "nn"),
        ("baseline", "bow"),
        ("tiny",),
        ("tiny",),
        {"sub_core.banks": (2, 3), "sub_core.rows": (16,)},
    )
    outcomes = sweep(made, workers=2)
    write(made, outcomes, tmp_path / "s.parquet")
    table = parquet.read_table(tmp_path / "s.parquet")
    assert table.column_names == list(columns(made))
    rows = table.to_pylist()
    assert [(row["kernel"], row["scheme"], row["field.sub_core.banks"]) for row in rows] == [
        (kernel, scheme, banks)
        for kernel in ("nbody", "nn")
        for scheme in ("baseline", "bow")
        for banks in (2, 3)
    ]
    for row in rows:
        assert row["failed"] == (row["kernel"] == "nn" or row["field.sub_core.banks"] == 3)
        assert (row["cycles"] is None) == row["failed"]
        assert (row["error"] == "") != row["failed"]
    assert "power of two" in rows[1]["error"]
    assert "does not fit" in rows[4]["error"]
    alone = RunSpec("nbody", "tiny", "bow", "tiny", ("sub_core.banks=2", "sub_core.rows=16")).compute()
    for name in ("cycles", "ipc", "config_hash", "trace", "max_registers"):
        assert rows[2][name] == alone[name]
    assert {name: rows[2][name] for name in COUNTERS} == alone["counters"]
    assert rows[2]["stall.issued"] == alone["stalls"]["issued"]
    assert rows[2]["energy.dynamic"] > 0
    assert json.loads(table.schema.metadata[b"warpbank"])["energy_table"] == "common"


def test_a_sweep_can_sample(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('kernels = "vectoradd"\nsize = "tiny"\nsample = true\n')
    made = read_sweep(tmp_path / "s.toml")
    assert made == Sweep(("vectoradd",), sizes=("tiny",), sample=True)
    (spec, _), (whole, _) = [*made.points(), *Sweep(("vectoradd",), sizes=("tiny",)).points()]
    assert spec.key() != whole.key()
    (outcome,) = sweep(made, workers=1)
    write(made, [outcome], tmp_path / "s.parquet")
    (row,) = parquet.read_table(tmp_path / "s.parquet").to_pylist()
    assert row["simulated"] == row["warp_instructions"], "so few waves that all of them are kept"
    assert (row["ipc"], row["ipc_margin"]) == (whole.compute()["ipc"], 0)
    with pytest.raises(WarpbankError, match="a sample runs on the golden engine"):
        Sweep(("vectoradd",), sample=True, engine="pysim")


def test_columns_have_different_names() -> None:
    fields = dict.fromkeys(field_paths(preset("turing")), ("1",))
    plain = columns(Sweep(("nn",)))
    assert not set(plain) & {FIELD + path for path in fields}
    assert "max_registers" in plain


def _command(folder: Path, name: str, cache: Path) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.studies.sweep.command",
        str(folder / "s.toml"),
        "-o",
        str(folder / name),
    ]
    command += ["--workers", "2"]
    environment = os.environ | {"WARPBANK_CACHE": str(cache)}
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _wait(condition: Callable[[], bool], what: str, process: subprocess.Popen[str] | None = None) -> None:
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end, what
        assert process is None or process.poll() is None, f"it ended: {process.communicate()[1]}"
        time.sleep(0.005)


def _group_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def _latencies(folder: Path, count: int) -> Sweep:
    """Twice as many tiny runs, as the file s.toml in the folder."""
    (folder / "s.toml").write_text(
        'kernels = ["nn"]\nschemes = ["baseline", "bow-wr"]\nsize = "tiny"\npreset = "tiny"\n'
        f'[fields]\n"memory.dram_latency" = {list(range(100, 100 + count))}\n'
    )
    return read_sweep(folder / "s.toml")


def _killed_and_not(folder: Path, latencies: int, seed: int) -> None:
    """A sweep killed three times at random moments, one that is not, and one that shares the first one's
    cache."""
    rng = random.Random(seed)
    _latencies(folder, latencies)
    total = 2 * latencies
    results = folder / "killed" / "results"

    def kept() -> int:
        return len(list(results.glob("*.json")))

    moments = sorted(rng.sample(range(1, total - 4), 3))
    for moment in moments:
        process = _command(folder, "killed.parquet", folder / "killed")
        _wait(lambda moment=moment: kept() >= moment, "no results", process)  # type: ignore[misc]
        time.sleep(rng.random() * 0.02)
        process.kill()
        process.communicate(timeout=240)
        _wait(lambda group=process.pid: _group_gone(group), "workers outlive their command")  # type: ignore[misc]
        assert not (folder / "killed.parquet").exists()
    assert moments[-1] <= kept() < total, f"seed {seed}: it was killed too late to show anything"
    stamps = {path: path.stat().st_mtime_ns for path in results.glob("*.json")}
    both = [
        _command(folder, "killed.parquet", folder / "killed"),
        _command(folder, "shared.parquet", folder / "killed"),
    ]
    both.append(_command(folder, "whole.parquet", folder / "whole"))
    for process in both:
        assert process.wait(timeout=500) == 0, process.communicate()[1]
    assert kept() == total
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items()), (
        "something was computed twice"
    )
    whole, killed, shared = (
        parquet.read_table(folder / f"{name}.parquet") for name in ("whole", "killed", "shared")
    )
    assert len(whole) == total
    assert whole.column("failed").to_pylist() == [False] * total
    assert whole.equals(killed, check_metadata=True)
    assert whole.equals(shared, check_metadata=True)


@pytest.mark.long
def test_a_killed_sweep_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty runs, killed once; the same without a cluster and a cache of its own."""
    description = _latencies(tmp_path, 15)
    results, moment = tmp_path / "killed" / "results", random.Random(20260101).randrange(3, 12)
    process = _command(tmp_path, "killed.parquet", tmp_path / "killed")
    _wait(lambda: len(list(results.glob("*.json"))) >= moment, "no results", process)
    process.kill()
    process.communicate(timeout=240)
    _wait(lambda: _group_gone(process.pid), "workers outlive their command")
    kept = {path: path.stat().st_mtime_ns for path in results.glob("*.json")}
    assert moment <= len(kept) < 30
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "killed"))
    outcomes = sweep(description, workers=2)
    assert sum(outcome.cached for outcome in outcomes) == len(kept)
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in kept.items()), (
        "something was computed twice"
    )
    write(description, outcomes, tmp_path / "killed.parquet")
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "whole"))
    write(description, [perform(spec) for spec, _ in description.points()], tmp_path / "whole.parquet")
    whole, killed = (parquet.read_table(tmp_path / f"{name}.parquet") for name in ("whole", "killed"))
    assert len(whole) == 30
    assert whole.equals(killed, check_metadata=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_500_runs_killed_three_times_end_the_same(tmp_path: Path, seed: int) -> None:
    _killed_and_not(tmp_path, 250, seed)


@pytest.mark.long
def test_a_worker_killed_in_a_run_is_retried(cache: Path, tmp_path: Path) -> None:
    """From outside: a process below the sweep's own, in the middle of it."""
    (tmp_path / "s.toml").write_text(
        f'kernels = ["nn"]\nsize = "tiny"\npreset = "tiny"\n[fields]\n'
        f'"memory.dram_latency" = {list(range(100, 130))}\n'
    )
    process = _command(tmp_path, "s.parquet", cache)
    _wait(lambda: len(list((cache / "results").glob("*.json"))) >= 3, "no results", process)
    (worker, *_) = _workers(process.pid)
    os.kill(worker, signal.SIGKILL)
    assert process.wait(timeout=500) == 0, process.communicate()[1]
    assert parquet.read_table(tmp_path / "s.parquet").column("failed").to_pylist() == [False] * 30


def _workers(parent: int) -> list[int]:
    """Processes that a process started, its resource tracker left out."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            below = int(path.read_text().rpartition(")")[2].split()[1])
            words = path.with_name("cmdline").read_text()
        except OSError:
            continue
        if below == parent and "spawn_main" in words:
            found.append(int(path.parent.name))
    return found


READERS: dict[str, Callable[[Any, Path], list[tuple[Any, ...]]]] = {
    "pandas": lambda pandas, path: [
        tuple(None if pandas.isna(value) else value for value in row)
        for row in pandas.read_parquet(path)[SEEN].itertuples(index=False)
    ],
    "polars": lambda polars, path: polars.read_parquet(path)[SEEN].rows(),
    "duckdb": lambda duckdb, path: duckdb.sql(
        f"""SELECT {", ".join(f'"{name}"' for name in SEEN)} FROM '{path}'"""
    ).fetchall(),
}
#: Text, a number of the description, truth, text that may be empty, a counter, a fraction.
SEEN = ["scheme", "field.sub_core.banks", "failed", "error", "rf.reads", "ipc"]


@pytest.mark.parametrize("name", READERS)
def test_others_read_the_file(name: str, cache: Path, tmp_path: Path) -> None:
    """The tools that docs/sweep.md names see the same numbers, and where a run failed that there are none."""
    reader = pytest.importorskip(name)
    made = Sweep(("nbody",), ("baseline", "bow"), ("tiny",), ("tiny",), {"sub_core.banks": (2, 3)})
    outcomes = [perform(spec) for spec, _ in made.points()]
    write(made, outcomes, tmp_path / "s.parquet")
    rows = READERS[name](reader, tmp_path / "s.parquet")
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (scheme, banks, banks == 3) for scheme in ("baseline", "bow") for banks in (2, 3)
    ]
    for row, outcome in zip(rows, outcomes, strict=True):
        if outcome.result is None:
            assert "power of two" in row[3]
            assert row[4:] == (None, None)
        else:
            assert row[3] == ""
            assert row[4] == outcome.result["counters"]["rf.reads"] > 0
            assert row[5] == outcome.result["ipc"]


def test_python_descriptions_are_checked() -> None:
    with pytest.raises(WarpbankError, match="sweep: kernels has no values"):
        Sweep(())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fields": None}, "fields takes a dictionary by name, not None"),
        ({"fields": {"sub_core.banks": ([1],)}}, r"sub_core.banks takes whole numbers or texts .* not \[1\]"),
        ({"fields": {"sub_core.collector.boc_entries": (2.5,)}}, "or texts in quotes, not 2.5"),
        ({"fields": {"sub_core.collector.boc_entries": (None,)}}, "or texts in quotes, not None"),
        ({"scheme_fields": 5}, "scheme_fields takes a dictionary by name, not 5"),
        ({"scheme_fields": {5: {}}}, "Unknown scheme of this sweep '5'"),
        ({"scheme_fields": {"baseline": {"sub_core.banks": ([1],)}}}, r"texts in quotes, not \[1\]"),
        ({"kernels": ([1],)}, r"kernels takes names in quotes, not \[1\]"),
        ({"kernels": ("k\0.ptx",)}, "kernels takes names without NUL characters"),
        ({"schemes": ({},)}, "schemes takes names in quotes, not {}"),
        ({"code_order": ([],)}, r"code_order takes whole numbers or texts in quotes, not \[\]"),
        ({"engine": 5}, "engine takes a name in quotes, not 5"),
        ({"sample": "x"}, "sample takes True or False, not 'x'"),
    ],
)
def test_values_of_the_wrong_type(given: dict[str, Any], message: str) -> None:
    with pytest.raises(WarpbankError, match=f"sweep: .*{message}"):
        Sweep(**({"kernels": ("nn",)} | given))


def test_a_file_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(WarpbankError, match=r"none\.toml: No such file or directory$"):
        read_sweep(tmp_path / "none.toml")
