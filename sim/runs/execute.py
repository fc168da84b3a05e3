"""Tasks over all cores of this machine, or on a dask cluster.

Both are a `concurrent.futures.Executor`: a pool of processes, one per core and each with one thread, or the executor of a dask
client, whose cluster may be one on this machine. A worker looks a task's result up, computes it only if it is not there, and
stores it, so that whatever is killed loses the runs in progress and nothing else.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from typing import Any

from golden.check import OperandMismatch
from program.errors import WarpbankError
from sim import extensions
from sim.runs import store
from sim.runs.spec import Task

#: Times that a task is tried when the worker that had it dies.
ATTEMPTS = 3
#: Instead of a scheduler's address: a dask cluster on this machine, there for these tasks only.
LOCAL = "local"
#: Tasks that a dask scheduler is given at a time.
_AHEAD = 1000
_DIED = f"the process that ran it died {ATTEMPTS} times, killed or out of memory"
#: Libraries that would start a thread per core in every worker.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """How a task ended.

    Parameters
    ----------
    task : what was asked.
    result : what came of it; None if it failed.
    error : why it failed, one paragraph; "" if it did not.
    cached : the result was there already.
    """

    task: Any
    result: dict[str, Any] | None
    error: str = ""
    cached: bool = False


#: Called with each outcome as it comes, the number of those that came, and of how many.
Progress = Callable[[Outcome, int, int], None]


def execute(
    tasks: Iterable[Task], *, scheduler: str | None = None, workers: int | None = None, progress: Progress | None = None
) -> list[Outcome]:
    """Do the tasks, each once however often it is named, and return their outcomes in the order given.

    Parameters
    ----------
    scheduler : address of a dask scheduler (`tcp://host:8786`), or `LOCAL`; None: processes on this machine.
    workers : processes on this machine; None: one per core that this process may use.
    progress : see `Progress`.

    Raises WarpbankError if a description is wrong or the scheduler cannot be reached, before anything is started. A task that
    fails does not stop the others, and nothing of it is stored.
    """
    ordered = list(tasks)
    todo = list(dict.fromkeys(ordered))
    for task in todo:
        task.check()
    outcomes: dict[Task, Outcome] = {}

    def done(outcome: Outcome) -> None:
        outcomes[outcome.task] = outcome
        if progress is not None:
            progress(outcome, len(outcomes), len(todo))

    width = min(workers or len(os.sched_getaffinity(0)), len(todo))
    if scheduler is None:
        _locally(todo, done, width)
    else:
        _remotely(todo, done, scheduler, width)
    return [outcomes[task] for task in ordered]


def _locally(todo: list[Task], done: Callable[[Outcome], None], workers: int) -> None:
    """Processes of this machine. Tasks that were in hand when one of them died are tried again, each alone."""
    suspects: list[Task] = []
    while todo:
        with _processes(workers) as pool:
            lost, todo = _drain(pool, todo, done, 2 * workers)
        suspects += lost
    for task in suspects:
        for _ in range(ATTEMPTS - 1):
            with _processes(1) as pool:
                lost, _ = _drain(pool, [task], done, 1)
            if not lost:
                break
        else:
            done(Outcome(task, None, _DIED))


def _remotely(todo: list[Task], done: Callable[[Outcome], None], scheduler: str, workers: int) -> None:
    """A dask cluster. Its workers may keep their results elsewhere, so this machine keeps them too.

    dask tries a task again whose worker died, and gives it up together with others that the same workers had; each of those
    gets a last attempt alone.
    """
    keys = {task: task.key() for task in todo}
    found = {task: result for task in todo if (result := store.read(keys[task])) is not None}
    for task, result in found.items():
        done(Outcome(task, result, cached=True))

    def keep(outcome: Outcome) -> None:
        if outcome.result is not None:
            store.put(keys[outcome.task], outcome.result)
        done(outcome)

    rest = [task for task in todo if task not in found]
    if not rest:
        return
    with _dask(scheduler, workers) as pool:
        suspects, _ = _drain(pool, rest, keep, _AHEAD)
        for task in suspects:
            if _drain(pool, [task], keep, 1)[0]:
                done(Outcome(task, None, _DIED))


def _drain(
    pool: Executor, todo: list[Task], done: Callable[[Outcome], None], ahead: int
) -> tuple[list[Task], list[Task]]:
    """Give the tasks to the pool, at most `ahead` at a time. Returns those lost with a dead worker, and those not begun then."""
    lost: list[Task] = []
    waiting = list(reversed(todo))
    pending: dict[Future[Outcome], Task] = {}
    broken = False
    while pending or (waiting and not broken):
        while waiting and len(pending) < ahead and not broken:
            try:
                pending[pool.submit(perform, waiting[-1])] = waiting[-1]
                waiting.pop()
            except BrokenProcessPool:
                broken = True
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            task = pending.pop(future)
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                lost.append(task)
                broken = True
            elif type(error).__name__ == "KilledWorker":  # dask's; the cluster goes on with new workers
                lost.append(task)
            else:
                done(future.result() if error is None else Outcome(task, None, _cause(error)))
    return lost, waiting[::-1]


def perform(task: Task) -> Outcome:
    """Do one task in this process, unless its result is there. What the environment names is loaded before."""
    try:
        extensions.inherit()
        result, cached = store.get(task.key(), task.compute)
    except Exception as error:  # whatever it is, the other tasks go on
        return Outcome(task, None, _cause(error))
    return Outcome(task, result, cached=cached)


def _cause(error: BaseException) -> str:
    """A failure in one paragraph: a user's mistake or a wrong register file in its own words, a defect of ours with its type."""
    text = str(error)
    return text if isinstance(error, (WarpbankError, OperandMismatch)) else f"{type(error).__name__}: {text}"


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    """A pool of processes. An exception, Ctrl-C included, ends them at once: what they had in hand was not stored."""
    before = set(multiprocessing.active_children())
    saved = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # inherited; the libraries read them when a worker starts
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    else:
        pool.shutdown()
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start_worker() -> None:
    """Ctrl-C ends a worker without a word, and so does the end of the process it works for, even a killed one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _dask(address: str, workers: int) -> Iterator[Executor]:
    """The executor of a dask client. Workers elsewhere need this version of Warpbank."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise WarpbankError("this needs the distributed package; install it with: pip install 'warpbank[cluster]'") from None
    quiet = {"logging.distributed": "critical", "distributed.scheduler.allowed-failures": ATTEMPTS - 1}
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(quiet))
        if address == LOCAL:
            cluster = stack.enter_context(LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL,
            ))
            address = cluster.scheduler_address
        try:
            client = stack.enter_context(Client(address, timeout="10s"))
        except (OSError, ValueError) as error:
            raise WarpbankError(f"no dask scheduler answers at {address} ({error}); start one with: dask scheduler") from None
        yield client.get_executor(pure=False, retries=0)
