"""The worked example of a scheme from outside: golden and RTL in lockstep, and broken ones are caught."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from amaranth.hdl import Const

import warpbank.golden.registry
import warpbank.hdl.registry
from tests.cli.command import warpbank as command
from tests.registries import kept
from warpbank.arch.config import preset
from warpbank.arch.schemes import SCHEMES, parse_scheme
from warpbank.arch.units import UNITS
from warpbank.golden.check import OperandMismatch
from warpbank.golden.result import Result
from warpbank.program.errors import WarpbankError
from warpbank.program.random_programs.operations import random_trace
from warpbank.sim import extensions
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import Outcome, lockstep
from warpbank.sim.runs import RunSpec, execute

FOLDER = Path(__file__).parents[2] / "examples" / "last_value"


@pytest.fixture
def example() -> Iterator[ModuleType]:
    with kept():
        yield extensions.load(FOLDER)


def _golden(seed: int, scheme: str = "last-value") -> Result:
    trace = random_trace(seed, ctas=2, warps=3, length=30, registers=6)
    return GoldenEngine().run(trace, preset("tiny"), parse_scheme(scheme))


def _lockstep(seed: int) -> Outcome:
    trace = random_trace(seed, ctas=2, warps=2, length=12, registers=6, launches=2)
    return lockstep(trace, preset("tiny"), parse_scheme("last-value"), PysimEngine())


def test_it_is_short() -> None:
    assert sum(len(path.read_text().splitlines()) for path in FOLDER.glob("*.py")) < 200


@pytest.mark.parametrize("seed", range(5))
def test_every_operand_is_right(seed: int, example: ModuleType) -> None:
    result, base = _golden(seed), _golden(seed, "baseline")
    hits = result.counters["boc.forwards"]
    assert hits > 10
    assert result.counters["rf.reads"] == base.counters["rf.reads"] - hits
    assert result.operands_checked == base.operands_checked


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_golden_and_rtl_are_equal(seed: int, example: ModuleType) -> None:
    outcome = _lockstep(seed)
    assert outcome.divergence is None, f"seed {seed}: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["boc.forwards"] > 5


def test_a_model_that_never_forgets_is_caught(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = warpbank.golden.registry.COLLECTORS

    class Stale(golden["last_value"]):  # type: ignore[misc]
        def allocate(self, uop: Any) -> None:
            kept = dict(self._kept[uop.warp])
            super().allocate(uop)
            self._kept[uop.warp] = kept

    monkeypatch.setitem(golden, "last_value", Stale)
    with pytest.raises(OperandMismatch):
        _golden(0)


def test_rtl_that_never_forgets_is_caught(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    rtl = warpbank.hdl.registry.COLLECTORS

    class Stale(rtl["last_value"]):  # type: ignore[misc]
        def _forgets(self, register: Any) -> Any:
            return Const(0)

    monkeypatch.setitem(rtl, "last_value", Stale)
    assert _lockstep(0).divergence is not None


def test_what_cannot_be_loaded(tmp_path: Path) -> None:
    with kept():
        with pytest.raises(WarpbankError, match="takes a Python file"):
            extensions.load(tmp_path / "nothere.py")
        with pytest.raises(WarpbankError, match="takes a Python file"):
            extensions.load(tmp_path)
        (tmp_path / "wrong.py").write_text("import nothing_of_that_name\n")
        with pytest.raises(WarpbankError, match=r"wrong\.py cannot be loaded: ModuleNotFoundError"):
            extensions.load(tmp_path / "wrong.py")
        (tmp_path / "ends.py").write_text("raise SystemExit(3)\n")
        with pytest.raises(WarpbankError, match=r"ends\.py cannot be loaded: SystemExit: 3"):
            extensions.load(tmp_path / "ends.py")


def test_a_fault_in_a_plugin_shows_its_own_traceback(tmp_path: Path) -> None:
    """From the first line of the user's file on; how it came to be loaded tells nothing."""
    file = tmp_path / "faulty.py"
    file.write_text("def made():\n    return 1 / 0\n\n\nmade()\n")
    with kept(), pytest.raises(WarpbankError) as refused:
        extensions.load(file)
    assert "\n" not in str(refused.value)
    (note,) = refused.value.__notes__
    assert [line.strip() for line in note.splitlines() if "File" in line] == [
        f'File "{file}", line 5, in <module>',
        f'File "{file}", line 2, in made',
    ]
    assert note.endswith("ZeroDivisionError: division by zero")
    with kept():
        done = command("--load", str(file), "kernels")
    assert done.code == 2
    assert done.err == f"error: {refused.value}\n{note}\n"


def test_what_is_loaded_is_told(example: ModuleType, tmp_path: Path) -> None:
    (name, key), *_ = extensions.loaded().items()
    assert name == "last_value"
    done = command("run", "vectoradd", "--size", "tiny", "--preset", "tiny", "--json")
    assert json.loads(done.out)["versions"]["last_value (--load)"] == key
    words = ("--kernels", "vectoradd", "--schemes", "bow", "--size", "tiny", "--preset", "tiny", "--json")
    done = command("compare", *words)
    assert json.loads(done.out)["made_by"]["versions"]["last_value (--load)"] == key
    done = command("export", "lrr", "--preset", "tiny", "--output", str(tmp_path / "lrr.v"))
    assert done.code == 0, done.err
    assert f"// Loaded: last_value {key}.\n" in (tmp_path / "lrr.v").read_text()
    bench = ("--with-bench", "cocotb", "--output", str(tmp_path / "d"))
    done = command("export", "decompressor", "--preset", "tiny", *bench)
    assert done.code == 0, done.err
    assert f"// Loaded: last_value {key}.\n" in (tmp_path / "d" / "decompressor.v").read_text()


def test_a_worker_elsewhere_gets_it(example: ModuleType, tmp_path: Path) -> None:
    """A process that has nothing loaded does a run with what it is sent."""
    sent = tmp_path / "sent"
    task = RunSpec("vectoradd", "tiny", "last-value", "tiny")
    sent.write_bytes(pickle.dumps((extensions.parcel(), task, extensions.digest())))
    code = (
        "import pickle, sys\n"
        "from warpbank.sim import extensions\n"
        "from warpbank.sim.runs.worker import perform_elsewhere\n"
        f"parcel, task, digest = pickle.load(open({str(sent)!r}, 'rb'))\n"
        "for _ in range(2): outcome = perform_elsewhere(parcel, task)\n"
        "print(outcome.error, outcome.result['counters']['boc.forwards'], extensions.digest() == digest)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != extensions.VARIABLE}
    environment |= {"WARPBANK_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    forwards, same = done.stdout.split()
    assert int(forwards) > 0
    assert same == "True"


def test_loading_happens_once_and_has_a_digest(example: ModuleType, tmp_path: Path) -> None:
    assert extensions.load(FOLDER) is example
    before = extensions.digest()
    (tmp_path / "more.py").write_text(
        "from warpbank.arch.schemes import Row, register_scheme\n"
        "register_scheme(Row(name='like-baseline', description='x'))\n"
    )
    extensions.load(tmp_path / "more.py")
    assert "like-baseline" in SCHEMES
    assert extensions.digest() != before


def test_worker_processes_know_it(example: ModuleType) -> None:
    (outcome,) = execute([RunSpec("vectoradd", "tiny", "last-value", "tiny")])
    assert outcome.error == ""
    assert outcome.result is not None
    assert outcome.result["counters"]["boc.forwards"] > 0


def test_nothing_is_left_behind() -> None:
    assert "last-value" not in SCHEMES
    assert "last_value" not in UNITS["collector"]
    assert extensions.digest() == ""
