"""Many runs: right results in order, each computed once, kept across kills, failures and second commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from warpbank.arch.config import config_hash, preset
from warpbank.program.errors import WarpbankError
from warpbank.program.options import CompileOptions
from warpbank.sim import experiment as exp
from warpbank.sim.runs import Outcome, RunSpec, execute, store
from warpbank.sim.runs.execute import LOCAL
from warpbank.sim.runs.worker import perform

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Step:
    """A task of these tests: writes a line to a log each time it is computed.

    Parameters
    ----------
    seconds : that it takes.
    fault : what goes wrong.
    gated : it does not end before there is a file with the log's name and `.open`.
    """

    number: int
    log: str
    seconds: float = 0.0
    fault: str = ""
    gated: bool = False

    @property
    def label(self) -> str:
        return f"step {self.number}"

    def check(self) -> None:
        if self.fault == "refused":
            raise WarpbankError("this step is refused")

    def key(self) -> str:
        return store.key("step", self.number, self.log, self.fault)

    def compute(self) -> dict[str, Any]:
        with open(self.log, "a") as log:
            log.write(f"{self.number}\n")
        time.sleep(self.seconds)
        while self.gated and not Path(f"{self.log}.open").exists():
            time.sleep(0.01)
        if self.fault == "raises":
            raise ValueError("it broke")
        if self.fault == "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "kills once" and Path(self.log).read_text().split().count(str(self.number)) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"square": self.number**2}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test alone."""
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _computed(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def _squares(outcomes: list[Outcome]) -> list[int | None]:
    return [None if outcome.result is None else outcome.result["square"] for outcome in outcomes]


def test_results_are_those_of_single_runs(cache: Path) -> None:
    specs = [
        RunSpec("vectoradd", "tiny", scheme, "pascal", overrides)
        for scheme in ("baseline", "bow-wr")
        for overrides in ((), ("sub_core.collector.window=2",))
    ]
    outcomes = execute(specs, workers=2)
    assert [outcome.task for outcome in outcomes] == specs
    for spec, outcome in zip(specs, outcomes, strict=True):
        alone = exp.run(spec.experiment()).to_dict()
        assert outcome.result is not None, outcome.error
        for data in (alone, outcome.result):
            data.pop("seconds")
        assert outcome.result == json.loads(json.dumps(alone))
    assert outcomes[0].result["config_hash"] == config_hash(preset("pascal"))  # type: ignore[index]


def test_keys_tell_runs_apart() -> None:
    base = RunSpec("vectoradd", "tiny")
    others = [
        RunSpec("vectoradd", "small"),
        RunSpec("nn", "tiny"),
        RunSpec("vectoradd", "tiny", "bow"),
        RunSpec("vectoradd", "tiny", preset="pascal"),
        RunSpec("vectoradd", "tiny", overrides=("sub_core.banks=4",)),
        RunSpec("vectoradd", "tiny", compile=CompileOptions(max_registers=16)),
        RunSpec("vectoradd", "tiny", engine="verilator"),
        RunSpec("vectoradd", "tiny", observer="warpbank.studies.reproduce.observe:Stages"),
    ]
    keys = [spec.key() for spec in (base, *others)]
    assert len(set(keys)) == len(keys)
    assert RunSpec("vectoradd", "tiny").key() == base.key()
    assert (
        RunSpec("vectoradd", "tiny", overrides=("sub_core.banks=2",)).key() == base.key()
    )  # the default, spelt out


def test_changed_code_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = RunSpec("vectoradd", "tiny").key()
    monkeypatch.setattr(store, "code_digest", lambda *packages: "other code")
    assert RunSpec("vectoradd", "tiny").key() != before


def test_each_is_computed_once_and_kept(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    steps = [Step(number, str(log)) for number in (1, 2, 3, 2, 1)]
    seen: list[tuple[int, int]] = []
    first = execute(steps, workers=2, progress=lambda outcome, done, total: seen.append((done, total)))
    assert _squares(first) == [1, 4, 9, 4, 1]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert sorted(_computed(log)) == [1, 2, 3]
    second = execute(steps, workers=2)
    assert _squares(second) == [1, 4, 9, 4, 1]
    assert all(outcome.cached for outcome in second)
    assert sorted(_computed(log)) == [1, 2, 3]


def test_a_failure_stops_nothing_and_is_not_kept(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    steps = [Step(1, str(log)), Step(2, str(log), fault="raises"), Step(3, str(log))]
    for _ in range(2):
        outcomes = execute(steps, workers=2)
        assert _squares(outcomes) == [1, None, 9]
        assert outcomes[1].error == "ValueError: it broke"
    assert _computed(log).count(2) == 2
    assert _computed(log).count(1) == _computed(log).count(3) == 1


def test_a_users_mistake_in_a_run_keeps_its_words(cache: Path) -> None:
    """A CTA that does not fit its machine: the sentence of the simulator, without a type in front."""
    spec = RunSpec("nbody", "tiny", preset="tiny", overrides=("sub_core.rows=1",))
    (outcome,) = execute([spec], workers=1)
    assert outcome.result is None
    assert "CTA" in outcome.error
    assert "Error" not in outcome.error


@pytest.mark.long
def test_a_dead_worker_is_replaced(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    steps = [Step(number, str(log)) for number in range(6)]
    steps[1] = Step(1, str(log), fault="kills once")
    steps[2] = Step(2, str(log), fault="kills")
    outcomes = execute(steps, workers=2)
    assert _squares(outcomes) == [0, 1, None, 9, 16, 25]
    assert "died 3 times" in outcomes[2].error


def test_wrong_descriptions_are_refused_before_anything_starts(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(WarpbankError, match="refused"):
        execute([Step(1, str(log)), Step(2, str(log), fault="refused")])
    assert _computed(log) == []
    for spec, message in (
        (RunSpec("vectorad"), "Unknown kernel 'vectorad'. Did you mean vectoradd"),
        (RunSpec("vectoradd", "huge"), "Unknown size 'huge'"),
        (RunSpec("vectoradd", scheme="bwo"), "Unknown scheme 'bwo'. Did you mean bow"),
        (RunSpec("vectoradd", preset="pascall"), "Unknown preset"),
        (RunSpec("vectoradd", overrides=("sub_core.banks=3",)), "power of two"),
        (RunSpec("vectoradd", engine="spice"), "Unknown engine 'spice'"),
        (RunSpec("vectoradd", engine="pysim", observer="a:b"), "only the golden engine can be observed"),
    ):
        with pytest.raises(WarpbankError, match=message):
            execute([spec])


def test_no_tasks(cache: Path) -> None:
    assert execute([]) == []


def test_a_damaged_result_is_made_again(cache: Path, tmp_path: Path) -> None:
    step = Step(5, str(tmp_path / "log"))
    perform(step)
    path = store.folder() / f"{step.key()}.json"
    path.write_text(path.read_text()[:5])
    assert not perform(step).cached
    assert perform(step).cached


def test_without_a_cache_folder_it_still_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="results cannot be kept"):
        assert perform(Step(3, str(tmp_path / "log"))).result == {"square": 9}


SCRIPT = """
import sys
from warpbank.sim.runs import execute
from tests.sim.test_runs import Step
if __name__ == "__main__":
    log, count, seconds, free = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    steps = [Step(number, log, seconds, gated=number >= free) for number in range(count)]
    outcomes = execute(steps, workers=2)
    print([outcome.result["square"] for outcome in outcomes])
"""


def _start(folder: Path, log: Path, count: int, seconds: float, free: int) -> subprocess.Popen[str]:
    """A command of its own, in its own process group. Its steps from `free` on are gated."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(log), str(count), str(seconds), str(free)]
    # A shell that starts the tests in the background leaves SIGINT ignored, and that would be inherited.
    return subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _wait(condition: Any, what: str) -> None:
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def _group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.quick("9")
@pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_command_resumes(with_signal: signal.Signals, cache: Path, tmp_path: Path) -> None:
    """Killed in the middle: its workers go too, what was done stays, what was not is done next time, nothing
    twice."""
    log = tmp_path / "log"
    process = _start(tmp_path, log, 8, 0.0, 4)
    _wait(lambda: len(list(store.folder().glob("*.json"))) >= 3, "no results appeared")
    process.send_signal(with_signal)
    out, _ = process.communicate(timeout=240)
    assert process.returncode != 0
    assert out == ""
    _wait(lambda: not _group_alive(process.pid), "workers outlive their command")
    kept = {path.name for path in store.folder().glob("*.json")}
    assert 3 <= len(kept) <= 4  # no clock decides how many are left to do: the others wait for the gate
    Path(f"{log}.open").touch()
    outcomes = execute([Step(number, str(log), gated=number >= 4) for number in range(8)], workers=2)
    assert _squares(outcomes) == [number**2 for number in range(8)]
    done_before = {outcome.task.number for outcome in outcomes if outcome.cached}
    assert len(done_before) == len(kept)
    assert all(_computed(log).count(number) == 1 for number in done_before)
    assert not list(store.folder().glob(".*.part"))


def test_half_a_result_is_written_over(cache: Path, tmp_path: Path) -> None:
    step = Step(6, str(tmp_path / "log"))
    store.folder().mkdir(parents=True)
    (store.folder() / f".{step.key()}.part").write_text('{"squa')
    assert perform(step).result == {"square": 36}
    assert not list(store.folder().glob(".*.part"))


@pytest.mark.long
def test_two_commands_share_the_cache(cache: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    both = [_start(tmp_path, log, 8, 0.2, 8) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        assert json.loads(out) == [number**2 for number in range(8)]
    assert sorted(_computed(log)) == list(range(8))


def test_scheduler_without_dask_or_without_answer(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpbank.sim.runs.cluster._REACH", "1s")
    with pytest.raises(WarpbankError, match=r"this needs the distributed package|no dask scheduler answers"):
        execute([Step(1, str(tmp_path / "log"))], scheduler="tcp://127.0.0.1:1")


def test_dask_cluster(cache: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    log = tmp_path / "log"
    steps = [Step(number, str(log)) for number in range(5)] + [Step(9, str(log), fault="raises")]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        outcomes = execute(steps, scheduler=cluster.scheduler_address)
        assert _squares(outcomes) == [0, 1, 4, 9, 16, None]
        again = execute(steps[:5], scheduler=cluster.scheduler_address)
    assert all(outcome.cached for outcome in again)
    assert sorted(_computed(log)) == [0, 1, 2, 3, 4, 9]


@dataclass
class Deaf:
    """A cluster that does nothing with the first tasks that it is given, and loses one later.

    Parameters
    ----------
    silent, cancels : numbers of those, in the order in which they come.
    """

    silent: set[int]
    cancels: set[int]
    given: int = 0

    def submit(self, task: Any) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        if self.given in self.cancels:
            future.cancel()
            future.set_running_or_notify_cancel()
        elif self.given not in self.silent:
            future.set_result(perform(task))
        self.given += 1
        return future

    def idle(self) -> bool:
        return True

    def workers(self) -> int:
        return 1


def _deaf(monkeypatch: pytest.MonkeyPatch, cluster: Deaf) -> None:
    module = sys.modules["warpbank.sim.runs.execute"]  # the package names its function so, too
    monkeypatch.setattr(module, "connect", lambda *_: nullcontext(cluster))
    monkeypatch.setattr(module, "_PATIENCE", 0.01)


def test_what_a_cluster_loses_is_given_again(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Deaf(silent={0, 2}, cancels={1, 5})
    _deaf(monkeypatch, cluster)
    steps = [Step(number, str(tmp_path / "log")) for number in range(4)]
    assert _squares(execute(steps, scheduler="tcp://elsewhere:1")) == [0, 1, 4, 9]
    assert cluster.given == 8  # four, the three that were lost, and one of these again


def test_a_cluster_that_never_does_anything(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _deaf(monkeypatch, Deaf(silent=set(range(1, 100)), cancels=set()))
    steps = [Step(number, str(tmp_path / "log")) for number in range(4)]
    with pytest.raises(WarpbankError, match="did nothing with 3 tasks that it was given 3 times"):
        execute(steps, scheduler="tcp://elsewhere:1")


@pytest.mark.parametrize("warned", [False, True])
def test_a_scheduler_without_workers_is_told(
    warned: bool, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs wait, and whoever waits learns how to start a worker, by a warning where nobody else asks."""
    distributed = pytest.importorskip("distributed")
    step = Step(3, str(tmp_path / "log"))
    said: list[str] = []
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:

        def start(sentence: str) -> None:
            said.append(sentence)
            cluster.scale(1)

        address = cluster.scheduler_address
        with warnings.catch_warnings():
            warnings.filterwarnings("always", message=".*dask worker")
            warnings.filterwarnings("ignore", message="(?!.*dask worker)")
            monkeypatch.setattr(warnings, "showwarning", lambda message, *_, **__: start(str(message)))
            done = execute([step], scheduler=address, on_wait=None if warned else start)
        assert _squares(done) == [9]
        execute([Step(4, str(tmp_path / "log"))], scheduler=address, on_wait=said.append)
    (sentence,) = said
    assert f"dask worker {address}" in sentence


def test_a_worker_elsewhere_dies(cache: Path, tmp_path: Path) -> None:
    """Its step goes to the other worker, and those that it held already are not lost."""
    distributed = pytest.importorskip("distributed")
    log = tmp_path / "log"
    steps = [Step(number, str(log), fault="kills once" if number == 2 else "") for number in range(8)]
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        "--no-nanny",
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        workers = [
            subprocess.Popen([*command, cluster.scheduler_address], cwd=ROOT, stderr=subprocess.DEVNULL)
            for _ in range(2)
        ]
        try:
            cluster.wait_for_workers(2, timeout=120)
            assert _squares(execute(steps, scheduler=cluster.scheduler_address)) == [
                number**2 for number in range(8)
            ]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    assert _computed(log).count(2) == 2


def test_dask_on_this_machine(cache: Path, tmp_path: Path) -> None:
    """Steps whose workers die: once, and always; neither takes another one with it."""
    pytest.importorskip("distributed")
    log = tmp_path / "log"
    steps = [Step(number, str(log)) for number in range(8)]
    steps[2] = Step(2, str(log), fault="kills once")
    steps[5] = Step(5, str(log), fault="kills")
    outcomes = execute(steps, scheduler=LOCAL, workers=2)
    assert _squares(outcomes) == [0, 1, 4, 9, 16, None, 36, 49]
    assert "died 3 times" in outcomes[5].error
    assert [_computed(log).count(number) for number in range(8)] == [1, 1, 2, 1, 1, 3, 1, 1]
    (again,) = execute(steps[:1], scheduler=LOCAL)
    assert again.cached


def test_code_digest_sees_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a package all its files, of a module its own."""
    package = tmp_path / "some_package"
    package.mkdir()
    for name in ("__init__", "one", "two"):
        (package / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    digest = store.code_digest.__wrapped__
    whole, module = digest("some_package"), digest("some_package.one")
    (package / "two.py").write_text("changed = True\n")
    assert digest("some_package") != whole
    assert digest("some_package.one") == module
    (package / "one.py").write_text("changed = True\n")
    assert digest("some_package.one") != module
