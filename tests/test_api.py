"""The Python API: the commands as functions, their results, and what importing it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

import warpbank as wb
from tests.cli.command import warpbank
from warpbank import api
from warpbank.arch.errors import ArgumentError
from warpbank.sim.errors import CheckpointError

ROOT = Path(__file__).parent.parent
SAXPY = ROOT / "examples" / "saxpy" / "saxpy.cu"


def _python(code: str, *arguments: str, cwd: Path = ROOT) -> str:
    """Standard output of a Python process of its own."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run() -> wb.Run:
    return wb.run("vectoradd", size="tiny", preset="tiny", scheme="bow-wr", overrides={"sub_core.banks": 4})


@pytest.fixture(scope="module")
def comparison() -> wb.Comparison:
    return wb.compare(["bow-wr"], ["vectoradd", "nn"], size="tiny", preset="tiny", workers=1)


def test_importing_a_part_loads_nothing_else() -> None:
    loaded = _python(
        "import sys, warpbank.arch, warpbank\n"
        "print(*sorted(name for name in sys.modules if name.partition('.')[0] in ('warpbank', 'numpy')))"
    )
    assert loaded.split() == ["warpbank", "warpbank.arch", "warpbank.native"]


def test_names() -> None:
    """Every name is there, in `dir`, and documented."""
    assert set(wb.__all__) <= set(dir(wb))
    for name in wb.__all__:
        assert getattr(wb, name).__doc__ if name != "__version__" else wb.__version__, name
    with pytest.raises(AttributeError, match="has no attribute 'rum'"):
        wb.__getattr__("rum")


def test_a_run_says_what_the_command_says(run: wb.Run) -> None:
    words = ("run", "vectoradd", "--size", "tiny", "--preset", "tiny", "--scheme", "bow-wr")
    done = warpbank(*words, "--set", "sub_core.banks=4", "--json")
    printed, made = json.loads(done.out), json.loads(json.dumps(run.to_dict()))
    for each in (printed, made):
        del each["seconds"]
    assert made == printed


def test_a_run_at_a_glance(run: wb.Run) -> None:
    data = run.to_dict()
    for name in ("kernel", "size", "scheme", "preset", "engine", "cycles", "warp_instructions", "ipc"):
        assert getattr(run, name) == data[name]
    assert run.stalls == data["stalls"]
    assert run.counters["rf.reads"] > 0
    assert run.config.sub_core.banks == 4
    assert run.hit_ratio == data["hit_ratio"] > 0
    assert repr(run).startswith("Run(kernel='vectoradd', size='tiny', scheme='bow-wr', preset='tiny', ")


def test_frame_of_a_run(run: wb.Run) -> None:
    (row,) = run.to_frame().to_dict("records")
    assert row["scheme"] == "bow-wr"
    assert row["cycles"] == run.cycles
    assert row["rf.writes"] == run.counters["rf.writes"]
    assert row["energy.dynamic"] == run.energy.dynamic_total > 0


def test_energy_tables(run: wb.Run) -> None:
    """Beside the common table stand those of the scheme, unless another one is asked for."""
    assert [each.table for each in run.energy_own] == ["bow", "bow-network"]
    other = wb.run("vectoradd", size="tiny", preset="tiny", scheme="bow-wr", energy="bow")
    assert other.energy.table == "bow"
    assert other.energy_own == ()


def test_a_machine_from_a_file(tmp_path: Path) -> None:
    """Paths are taken as texts and as Path, overrides as texts, too."""
    file = tmp_path / "machine.toml"
    file.write_text('preset = "tiny"\n[sub_core]\nbanks = 4\n')
    found = [
        wb.run("vectoradd", size="tiny", config=config, overrides=overrides).to_dict()["config_hash"]
        for config, overrides in ((file, "sub_core.rows=32"), (str(file), ["sub_core.rows=32"]))
    ]
    assert len(set(found)) == 1
    assert found[0] != wb.run("vectoradd", size="tiny", config=file).to_dict()["config_hash"]


def test_a_checkpoint(tmp_path: Path) -> None:
    """It is gone when the run is over; what a killed run does is in tests/sim/engines/test_checkpoint.py."""
    path = tmp_path / "run.ckpt"
    whole = wb.run("bfs", size="tiny", preset="tiny")
    kept = wb.run("bfs", size="tiny", preset="tiny", checkpoint=path, checkpoint_every=0)
    assert kept.report.result == whole.report.result
    assert not path.exists()
    refused: tuple[Any, ...] = (-1, float("nan"), "1", True)
    for wrong in refused:
        with pytest.raises(ArgumentError, match="checkpoint_every takes seconds, from 0 to 1000000, not"):
            wb.run("bfs", checkpoint=path, checkpoint_every=wrong)
    path.write_text("notes of mine")
    with pytest.raises(CheckpointError, match="is no checkpoint of Warpbank"):
        wb.run("bfs", size="tiny", preset="tiny", checkpoint=path)
    assert path.read_text() == "notes of mine"


def test_waves(tmp_path: Path) -> None:
    path = tmp_path / "w.vcd"
    with pytest.raises(wb.errors.EngineError, match="golden"):
        wb.run("vectoradd", size="tiny", preset="tiny", waves=path, wave_cycles=(0, 10))


def test_a_comparison(comparison: wb.Comparison) -> None:
    table = comparison.to_frame()
    assert list(table.scheme) == ["baseline", "baseline", "bow-wr", "bow-wr"]
    assert list(table.kernel) == ["vectoradd", "nn"] * 2
    assert not table.failed.any()
    measures = comparison.to_dict()["measures"]
    assert set(measures) < set(table.columns)
    values = table.set_index(["scheme", "kernel"])
    assert (values.loc["baseline", "ipc"] == 1).all()
    assert values.loc[("bow-wr", "nn"), "rf_reads"] == measures["rf_reads"]["values"]["bow-wr"]["nn"] < 1


def test_a_comparison_on_paper(tmp_path: Path) -> None:
    made = wb.compare("bow-wr", "vectoradd", size="tiny", preset="tiny", output=tmp_path / "made")
    written = json.loads((tmp_path / "made" / "compare.json").read_text())
    assert written == json.loads(json.dumps(made.to_dict()))
    assert (tmp_path / "made" / "compare.html").is_file()


def test_runs_that_fail_have_rows() -> None:
    made = wb.compare(
        "bow-wr", "vectoradd", size="tiny", preset="tiny", overrides={"sub_core.rows": 2}, workers=1
    )
    table = made.to_frame()
    assert table.failed.all()
    assert table.error.str.contains("registers").all()


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Worker processes do not run the script again that has started them."""
    script = tmp_path / "script.py"
    script.write_text(
        "import warpbank as wb\n"
        "made = wb.compare('bow', 'vectoradd', size='tiny', preset='tiny', workers=2)\n"
        "print(made.failures, __file__)\n"
    )
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == f"{{}} {script}\n", done.stderr


def test_a_sweep(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"sub_core.banks": (2, 4)}
    wanted = wb.Sweep(("vectoradd",), ("baseline", "bow"), ("tiny",), ("tiny",), fields)
    made = wb.sweep(wanted, output=tmp_path / "s.parquet", workers=1)
    table = made.to_frame()
    assert list(table["field.sub_core.banks"]) == [2, 4, 2, 4]
    assert list(table.scheme) == ["baseline", "baseline", "bow", "bow"]
    assert made.failures == {}
    assert list(pandas.read_parquet(tmp_path / "s.parquet").columns) == list(table.columns)
    data = json.loads(json.dumps(made.to_dict()))
    assert [row["cycles"] for row in data["runs"]] == list(table.cycles)
    assert data["description"]["schemes"] == ["baseline", "bow"]


def test_a_sweep_from_a_file_with_an_impossible_machine(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(
        'kernels = ["vectoradd"]\nsize = "tiny"\npreset = "tiny"\n[fields]\n"sub_core.banks" = [2, 3]\n'
    )
    made = wb.sweep(file, workers=1)
    assert list(made.failures) == ["vectoradd baseline sub_core.banks=3"]
    assert list(made.to_frame().failed) == [False, True]


@pytest.mark.compile
def test_compile(tmp_path: Path) -> None:
    made = wb.compile(SAXPY, arch="sm_80", include=tmp_path, defines={"A": 1}, output=tmp_path / "saxpy.ptx")
    assert (tmp_path / "saxpy.ptx").read_text() == made.text
    assert made.target == "sm_80"
    (kernel,) = made.kernels
    assert (kernel.name, kernel.parameters, kernel.parameter_bytes) == ("saxpy", 4, 24)
    assert list(made.to_frame().name) == ["saxpy"]
    assert json.loads(json.dumps(made.to_dict()))["kernels"][0]["name"] == "saxpy"
    found = wb.run(tmp_path / "saxpy.ptx", launch=SAXPY.with_suffix(".toml"), preset="tiny")
    assert found.kernel == "saxpy"


def test_lockstep() -> None:
    found = wb.lockstep("vectoradd", preset="tiny", engine="pysim")
    assert found.equal
    assert found.divergence is None
    assert found.cycles == wb.run("vectoradd", size="tiny", preset="tiny").cycles
    (row,) = found.to_frame().to_dict("records")
    assert (row["engine"], row["equal"], row["events"]) == ("pysim", True, found.events)
    assert found.events > found.cycles
    data = json.loads(json.dumps(found.to_dict()))
    assert data["kernel"] == "vectoradd"
    assert data["equal"] is True


@pytest.mark.parametrize("command", ["kernels", "schemes"])
def test_lists_have_what_the_commands_list(command: str) -> None:
    listed: Callable[[], wb.Listing[Any]] = getattr(wb, command)
    found = listed()
    printed = json.loads(warpbank(command, "--json").out)[command]
    assert list(found.names) == [row["name"] for row in printed]
    assert len(found) == len(found.to_frame()) == len(found.to_dict())
    assert found[found.names[1]] is found[1]
    assert list(found)[:2] == list(found[:2])
    with pytest.raises(KeyError):
        found["none"]


def test_presets() -> None:
    table = wb.presets().to_frame().set_index("name")
    assert table.loc["pascal", "sub_core.banks"] == wb.presets()["pascal"].config.sub_core.banks == 8
    assert wb.presets().to_dict()["tiny"]["config"]["preset"] == "tiny"


def test_load(tmp_path: Path) -> None:
    """A scheme of one's own is listed; in a process of its own, since it stays."""
    folder = ROOT / "examples" / "last_value"
    code = "import sys, warpbank as wb; wb.load(sys.argv[1]); print(wb.schemes().names[-1])"
    assert _python(code, str(folder)) == "last-value\n"


def test_frames_without_pandas(run: wb.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(wb.errors.MissingPackageError, match="pip install pandas"):
        run.to_frame()


def test_arguments_are_the_options() -> None:
    """Every keyword is an option of the command, or stands for one."""
    renamed = {"overrides": "set", "wave_cycles": "wave-cycles", "fast": "fast", "progress": ""}
    for name in ("run", "compare", "lockstep"):
        help_text = warpbank(name, "--help").out
        function = getattr(api, name)
        for keyword in function.__kwdefaults__:
            option = renamed.get(keyword, keyword.replace("_", "-"))
            assert not option or f"--{option}" in help_text, (name, keyword)
