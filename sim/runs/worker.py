"""Worker process that does tasks and ends with the process that it works for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait as wait_for
from typing import Any

from warpbank.golden.check import OperandMismatch
from warpbank.program.errors import WarpbankError
from warpbank.sim import extensions
from warpbank.sim.runs import store
from warpbank.sim.runs.spec import Task

#: Times that a task is tried when the worker that had it dies.
ATTEMPTS = 3
#: What is said of a task after them.
DIED = f"the process that ran it died {ATTEMPTS} times, killed or out of memory"
#: Libraries that would start a thread per core in every worker.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task.

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


def perform(task: Task) -> Outcome:
    """Do one task in this process, unless its result is there. What the environment names is loaded
    before."""
    try:
        extensions.inherit()
        result, cached = store.get(task.key(), task.compute)
    except Exception as error:  # whatever it is, the other tasks go on
        return Outcome(task, None, cause(error))
    return Outcome(task, result, cached=cached)


def perform_elsewhere(parcel: extensions.Parcel, task: Task) -> Outcome:
    """Do one task on another machine, which gets the extensions of the one that asks."""
    try:
        parcel.unpack()
    except Exception as error:  # as in `perform`
        return Outcome(task, None, cause(error))
    return perform(task)


def cause(error: BaseException) -> str:
    """Cause of a failure in one paragraph: a user's mistake or a wrong register file in its own words, a
    defect of ours with its type."""
    text = str(error)
    return text if isinstance(error, (WarpbankError, OperandMismatch)) else f"{type(error).__name__}: {text}"


@contextmanager
def _main_apart() -> Iterator[None]:
    """Context in which processes that are started do not run the program's main module again, as Python would
    have them: a user's script that begins a comparison would begin it again in each. Tasks name what they
    need by its module."""
    main = sys.modules["__main__"]
    hidden = {name: main.__dict__[name] for name in ("__file__", "__spec__") if main.__dict__.get(name)}
    main.__spec__ = None
    main.__dict__.pop("__file__", None)
    try:
        yield
    finally:
        main.__dict__.update(hidden)


@contextmanager
def children() -> Iterator[None]:
    """Context in which processes that are started have one thread each, and know what `extensions` has
    loaded, not what the main module defines. An exception, Ctrl-C included, ends them at once: what they had
    in hand was not stored."""
    before = set(multiprocessing.active_children())
    saved = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # inherited; the libraries read them when a worker starts
    try:
        with _main_apart():
            yield
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        for name, value in saved.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def pool(workers: int) -> Executor:
    """Pool of `workers` processes, to be made within `children`."""
    return ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_start_worker
    )


def submit(executor: Executor, task: Task) -> Future[Outcome]:
    """Submit a task to a `pool`. A process that starts for it does not hear Ctrl-C before it can end without
    a word (`_start_worker`): while Python imports its modules it would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # no POSIX system
        return executor.submit(perform, task)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited
    try:
        return executor.submit(perform, task)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Context of a pool of `workers` processes, which lasts as long as it."""
    with children():
        executor = pool(workers)
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
        executor.shutdown()


def _start_worker() -> None:
    """Ctrl-C ends a worker without a word, and so does the end of the process it works for, even a killed
    one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
