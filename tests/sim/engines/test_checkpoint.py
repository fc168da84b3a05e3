"""Checkpoints: a killed run ends as if nothing had been, and files that are not its own are refused."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from bench.traces import synthetic
from tests.cli.command import warpbank
from warpbank.arch.config import preset
from warpbank.arch.errors import ArgumentError, OutputError
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm
from warpbank.program.accelsim import read_accelsim
from warpbank.program.emulator import MAX_INSTRUCTIONS
from warpbank.program.trace.schema import Trace
from warpbank.sim import engines
from warpbank.sim import experiment as exp
from warpbank.sim.engines import checkpoint as module
from warpbank.sim.engines.checkpoint import Checkpoint
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.errors import CheckpointError, EngineError
from warpbank.sim.runs import RunSpec, store

SCHEMES = ("baseline", "ltrf", "renaming", "bow-wr", "gscalar", "malekeh")


class Mortal(Checkpoint):
    """Checkpoint whose process is killed in its n-th look, before it writes, in between or after."""

    def __init__(self, path: Path, look: int, place: str) -> None:
        super().__init__(path, 0.0)
        self._left, self._place = look, place

    def keep(self, machine: Sm) -> None:
        self._left -= 1
        if not self._left:
            if self._place == "between":  # the new file is there, under its other name
                mock.patch.object(os, "replace", _kill).start()
            elif self._place == "after":
                super().keep(machine)
            else:
                _kill()
        super().keep(machine)
        if not self._left:
            _kill()


def _kill(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _experiment(
    scheme: str, kernel: str = "bfs", size: str = "tiny", machine: str = "tiny"
) -> exp.Experiment:
    return exp.find(kernel, size, None, machine, None, scheme, [], None, MAX_INSTRUCTIONS)


def _killed(experiment: exp.Experiment, path: Path, look: int, place: str) -> bool:
    """Whether a run in a process of its own was killed; it may have been over before."""
    process = get_context("fork").Process(
        target=lambda: exp.run(experiment, checkpoint=Mortal(path, look, place))
    )
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _interrupted(experiment: exp.Experiment, path: Path, most: int) -> Result:
    """Result of a run that is killed three times, after at most `most` looks each."""
    chosen = random.Random(f"{experiment.scheme.name} {experiment.job.name}")
    for _ in range(3):
        assert _killed(
            experiment, path, chosen.randint(1, most), chosen.choice(["before", "between", "after"])
        )
    last = Checkpoint(path, 0.0)
    report = exp.run(experiment, checkpoint=last)
    assert last.resumed > 0
    assert not list(path.parent.glob(f"*{path.name}*")), "a run that is over leaves its checkpoint"
    return report.result


@pytest.mark.quick("baseline", "malekeh")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_run_that_is_killed_three_times(scheme: str, tmp_path: Path) -> None:
    experiment = _experiment(scheme)
    whole = exp.run(experiment).result
    found = _interrupted(experiment, tmp_path / "run.ckpt", 3)
    assert found.to_dict() == whole.to_dict()
    assert found.operands_checked == whole.operands_checked > 0


@pytest.mark.long
@pytest.mark.parametrize("scheme", [*SCHEMES, "malekeh+gscalar+renaming"])
@pytest.mark.parametrize("kernel", ["sgemm", "reduction"])
def test_a_longer_run_that_is_killed_three_times(kernel: str, scheme: str, tmp_path: Path) -> None:
    experiment = _experiment(scheme, kernel, "small", "turing")
    whole = exp.run(experiment).result
    assert _interrupted(experiment, tmp_path / "run.ckpt", 4).to_dict() == whole.to_dict()


@pytest.mark.long
def test_a_run_that_is_killed_at_any_moment(tmp_path: Path) -> None:
    """By the clock, in the middle of a cycle or of a write."""
    experiment, path = _experiment("ltrf", "sgemm", "small", "turing"), tmp_path / "run.ckpt"
    whole = exp.run(experiment).result
    chosen = random.Random(22)
    for _ in range(3):
        process = get_context("fork").Process(
            target=lambda: exp.run(experiment, checkpoint=Checkpoint(path, 0.0))
        )
        process.start()
        timer = threading.Timer(chosen.uniform(1, 3), process.kill)
        timer.start()
        process.join()
        timer.cancel()
        assert process.exitcode in (0, -signal.SIGKILL)
    assert exp.run(experiment, checkpoint=Checkpoint(path, 0.0)).result.to_dict() == whole.to_dict()


def _in_files(tmp_path: Path, instructions: int = 20_000) -> Trace:
    """A trace of Accel-Sim whose rows lie in files."""
    file = tmp_path / "kernel-1.traceg"
    if not file.exists():
        file.write_text("\n".join(synthetic(instructions)) + "\n")
    return read_accelsim([file], limit=0)


def test_a_trace_that_lies_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read again by the process that goes on, as that of a user who starts the command again."""
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "cache"))
    config, scheme, path = preset("turing"), parse_scheme("baseline"), tmp_path / "run.ckpt"
    whole = GoldenEngine().run(_in_files(tmp_path), config, scheme, check_operands=False)

    def mortal() -> None:
        kept = Mortal(path, 2, "after")
        GoldenEngine().run(_in_files(tmp_path), config, scheme, check_operands=False, checkpoint=kept)

    for _ in range(2):
        process = get_context("fork").Process(target=mortal)
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    last = Checkpoint(path)
    found = GoldenEngine().run(_in_files(tmp_path), config, scheme, check_operands=False, checkpoint=last)
    assert last.resumed > 3000
    assert found == whole


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Checkpoint of a run that was killed."""
    path = tmp_path / "run.ckpt"
    assert _killed(_experiment("baseline"), path, 2, "after")
    assert path.stat().st_mode & 0o077 == 0
    return path


def _refused(path: Path, experiment: exp.Experiment | None = None) -> str:
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(CheckpointError) as found:
        exp.run(experiment or _experiment("baseline"), checkpoint=Checkpoint(path))
    assert not path.is_file() or path.read_bytes() == before, "a refused file is left as it is"
    return str(found.value)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (_experiment("bow-wr"), "whose scheme is baseline and not bow-wr"),
        (_experiment("baseline", "scan"), "whose kernel is bfs (tiny) and not scan (tiny)"),
        (_experiment("baseline", machine="fermi"), "whose machine is tiny, configuration "),
    ],
    ids=["scheme", "kernel", "machine"],
)
def test_another_experiment_is_refused(file: Path, other: exp.Experiment, words: str) -> None:
    said = _refused(file, other)
    assert said.startswith(f"the checkpoint {file} is of another experiment, ")
    assert words in said
    assert said.endswith("name another file, or remove it, and the run starts from its beginning")


def test_other_code_or_hints_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.runner, "code_digest", lambda *rooms: "other code")
    assert "version of the code" in _refused(file)
    monkeypatch.undo()
    monkeypatch.setattr(module, "_static", lambda trace: "other hints")
    assert "whose trace is " in _refused(file)


def test_damaged_files_are_refused(file: Path) -> None:
    content = file.read_bytes()
    chosen = random.Random(25)
    line = content.index(b"\n") + 1
    for _ in range(20):
        place = chosen.randrange(line, len(content))
        file.write_bytes(
            content[:place] + bytes([content[place] ^ 1 << chosen.randrange(8)]) + content[place + 1 :]
        )
        assert _refused(file).startswith(f"the checkpoint {file} is damaged; remove it")
    for end in (line, line + 20, len(content) - 1):
        file.write_bytes(content[:end])
        assert "is damaged" in _refused(file)
    for end in (0, 5, 19):
        file.write_bytes(content[:end])
        assert _refused(file) == f"{file} is no checkpoint of Warpbank; name another file"
    file.write_bytes(content.replace(b"checkpoint 1 ", b"checkpoint 0 ", 1))
    assert "is a checkpoint of another version of Warpbank" in _refused(file)
    file.write_bytes(content)
    exp.run(_experiment("baseline"), checkpoint=Checkpoint(file))


def test_a_pickle_that_does_not_fit_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.state, "load", lambda machine, content: {}["core 7"])
    assert "cannot be read (KeyError: 'core 7')" in _refused(file)


def test_a_file_that_others_may_write_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pickle is code."""
    monkeypatch.setattr(module.state, "load", lambda machine, content: pytest.fail("it was read"))
    file.chmod(0o662)
    said = _refused(file)
    assert said.startswith("a checkpoint that is not yours alone is not read: ")
    assert "may be written by others (mode 662)" in said
    file.chmod(0o600)
    owner = file.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner:  # what the administrator wrote is read
        assert f"belongs to user {owner}, not to user {owner + 1}" in _refused(file)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="it is a folder"):
        Checkpoint(tmp_path)
    with pytest.raises(OutputError, match="name a folder that exists"):
        Checkpoint(tmp_path / "no" / "run.ckpt")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="it is a device or a pipe; name a file"):
        Checkpoint(tmp_path / "pipe")
    late = Checkpoint(tmp_path / "late")
    os.mkfifo(late.path)
    with pytest.raises(CheckpointError, match="is no file; name a file"):
        exp.run(_experiment("baseline"), checkpoint=late)


def test_a_link_stands_for_its_file(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "run.ckpt"
    link.symlink_to(tmp_path / "disk" / "kept")
    assert _killed(_experiment("baseline"), link, 2, "after")
    assert link.is_symlink()
    assert (tmp_path / "disk" / "kept").is_file()
    last = Checkpoint(link, 0.0)
    exp.run(_experiment("baseline"), checkpoint=last)
    assert last.resumed > 0
    assert link.is_symlink()
    assert not list((tmp_path / "disk").iterdir())


def test_a_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    whole = exp.run(_experiment("baseline")).result
    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="run.ckpt cannot be written: .*No space left") as warned:
        result = exp.run(_experiment("baseline"), checkpoint=Checkpoint(tmp_path / "run.ckpt", 0.0)).result
    assert len(warned) == 1
    assert result == whole
    assert not list(tmp_path.iterdir())


def test_it_is_written_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1_000_000))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(now)))
    written: list[int] = []
    monkeypatch.setattr(Checkpoint, "_write", lambda self, machine: written.append(machine.cycle))
    exp.run(_experiment("baseline"), checkpoint=Checkpoint(tmp_path / "run.ckpt", 3.0))
    assert len(written) == 2  # of seven looks, a second apart


def test_a_killed_run_of_a_sweep_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path))
    spec = RunSpec("bfs", "tiny", preset="tiny")
    whole = exp.run(spec.experiment()).result
    folder = store.folder() / "unfinished"
    folder.mkdir(parents=True)
    file = folder / f"{spec.key()}.ckpt"
    assert _killed(spec.experiment(), file, 3, "after")
    resumed: list[int] = []
    load = module.state.load
    monkeypatch.setattr(
        module.state, "load", lambda machine, content: (load(machine, content), resumed.append(machine.cycle))
    )
    assert spec.compute()["cycles"] == whole.cycles
    assert len(resumed) == 1
    assert not list(folder.iterdir())
    file.write_bytes(b"warpbank checkpoint 1 \n")
    with pytest.warns(UserWarning, match="is damaged"):
        assert spec.compute()["cycles"] == whole.cycles


def test_the_command_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    command = ("run", "bfs", "--size", "tiny", "--preset", "tiny", "--json", "--checkpoint", str(path))
    whole = warpbank(*command)
    assert _killed(_experiment("baseline"), path, 2, "after")
    again = warpbank(*command, "--checkpoint-every", "0.5")
    assert f"the run went on from {path}, at cycle 2," in again.err
    assert "went on" not in whole.err
    results: list[dict[str, Any]] = [json.loads(done.out) for done in (whole, again)]
    for each in results:
        del each["seconds"]
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "pysim"), "a checkpoint keeps the state of the golden model, not that of pysim"),
        (("--sample",), "a sample is short and has no checkpoint"),
        (("--over-time", "x.csv"), "a run that goes on from a checkpoint has no events of its first part"),
        (("--checkpoint-every", "-1"), "--checkpoint-every"),
    ],
)
def test_what_a_checkpoint_cannot_do(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = warpbank("run", "bfs", "--size", "tiny", "--checkpoint", str(tmp_path / "c"), *options)
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_no_events_of_a_run_with_a_checkpoint(tmp_path: Path) -> None:
    experiment = _experiment("baseline")
    trace = exp.run(experiment).trace
    with pytest.raises(EngineError, match="reports no events"):
        GoldenEngine().run(
            trace,
            experiment.config,
            experiment.scheme,
            events=lambda batch: None,
            checkpoint=Checkpoint(tmp_path / "c"),
        )
    with pytest.raises(ArgumentError, match="not that of pysim"):
        exp.run(experiment, engines.engine("pysim"), checkpoint=Checkpoint(tmp_path / "c"))
