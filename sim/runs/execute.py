"""Tasks over all cores of this machine, or on a dask cluster.

Both take tasks one by one and return futures: a pool of processes, one per core and each with one thread, or
the workers of a cluster. A worker looks a task's result up, computes it only if it is not there, and stores
it, so that whatever is killed loses the runs in progress and nothing else.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from warpbank.sim.errors import ClusterError
from warpbank.sim.runs import store
from warpbank.sim.runs.cluster import LOCAL, Cluster, connect
from warpbank.sim.runs.spec import Task
from warpbank.sim.runs.worker import ATTEMPTS, DIED, Outcome, cause, processes, submit

__all__ = ["LOCAL", "MOST_WORKERS", "Progress", "execute"]

#: Most processes on this machine.
MOST_WORKERS = 1024
#: Tasks that a dask scheduler is given at a time.
_AHEAD = 1000
#: Seconds without a result after which a cluster is asked whether it does anything.
_PATIENCE = 15.0

#: Called with each outcome as it comes, the number of those that came, and of how many.
Progress = Callable[[Outcome, int, int], None]


def execute(
    tasks: Iterable[Task],
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    on_wait: Callable[[str], None] | None = None,
) -> list[Outcome]:
    """Do the tasks, each once however often it is named, and return their outcomes in the order given.

    Parameters
    ----------
    scheduler : address of a dask scheduler (`tcp://host:8786`), or `LOCAL` for one of this process; None: no
        dask.
    workers : processes on this machine; None: one per core that this process may use.
    progress : see `Progress`.
    on_wait : called with a sentence when a scheduler has no workers, which the tasks wait for; None: a Python
        warning.

    Raises WarpbankError if a description is wrong or the scheduler cannot be reached, before anything is
    started. A task that fails does not stop the others, and nothing of it is stored.
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
        _remotely(todo, done, scheduler, width, on_wait or warnings.warn)
    return [outcomes[task] for task in ordered]


def _locally(todo: list[Task], done: Callable[[Outcome], None], workers: int) -> None:
    """Processes of this machine. Tasks that were in hand when one of them died are tried again, each
    alone."""
    suspects: list[Task] = []
    while todo:
        with processes(workers) as pool:
            lost, todo = _drain(partial(submit, pool), todo, done, 2 * workers)
        suspects += lost
    for task in suspects:
        for _ in range(ATTEMPTS - 1):
            with processes(1) as pool:
                lost, _ = _drain(partial(submit, pool), [task], done, 1)
            if not lost:
                break
        else:
            done(Outcome(task, None, DIED))


def _remotely(
    todo: list[Task],
    done: Callable[[Outcome], None],
    scheduler: str,
    workers: int,
    say: Callable[[str], None],
) -> None:
    """A dask cluster. Its workers may keep their results elsewhere, so this machine keeps them too.

    dask tries a task again whose worker died, and gives it up together with others that the same workers had;
    each of those gets a last attempt alone.
    """
    keys = {task: task.key() for task in todo}
    found = {task: result for task in todo if (result := store.read(keys[task])) is not None}
    for task, result in found.items():
        done(Outcome(task, result, cached=True))

    def keep(outcome: Outcome) -> None:
        if outcome.result is not None:
            store.put(keys[outcome.task], outcome.result)
        done(outcome)

    suspects = _on_cluster([task for task in todo if task not in found], keep, scheduler, workers, say)
    for task in suspects:
        if _on_cluster([task], keep, scheduler, workers, say):
            done(Outcome(task, None, DIED))


def _on_cluster(
    todo: list[Task],
    done: Callable[[Outcome], None],
    scheduler: str,
    workers: int,
    say: Callable[[str], None],
) -> list[Task]:
    """Give the tasks to the cluster, and those again that it does nothing with. Returns those lost with dead
    workers."""
    suspects: list[Task] = []
    stalls = 0
    while todo:
        with connect(scheduler, workers) as cluster:
            if scheduler != LOCAL and not cluster.workers():
                say(
                    f"the scheduler at {scheduler} has no workers, and the runs wait for one; start it, "
                    f"where warpbank is installed, with: dask worker {scheduler}"
                )
            lost, left = _drain(cluster.submit, todo, done, _AHEAD, cluster)
        suspects += lost
        stalls = stalls + 1 if len(left) == len(todo) else 0
        if stalls == ATTEMPTS:
            raise ClusterError(
                f"the dask cluster did nothing with {len(left)} tasks that it was given {ATTEMPTS} times; "
                "restart it and give the command again: what was done is kept"
            )
        todo = left
    return suspects


def _drain(
    submit: Callable[[Task], Future[Outcome]],
    todo: list[Task],
    done: Callable[[Outcome], None],
    ahead: int,
    cluster: Cluster | None = None,
) -> tuple[list[Task], list[Task]]:
    """Submit the tasks, at most `ahead` at a time. Returns those lost with a dead worker, and those to be
    given again: not submitted when a process of the pool died, or lost by a cluster that was idle twice in a
    row while results were waited for."""
    lost: list[Task] = []
    again: list[Task] = []
    waiting = list(reversed(todo))
    pending: dict[Future[Outcome], Task] = {}
    broken, idle = False, 0
    while pending or (waiting and not broken):
        while waiting and len(pending) < ahead and not broken:
            try:
                pending[submit(waiting[-1])] = waiting[-1]
                waiting.pop()
            except BrokenProcessPool:
                broken = True
        finished = wait(pending, None if cluster is None else _PATIENCE, FIRST_COMPLETED).done
        if cluster is not None:
            idle = idle + 1 if not finished and cluster.idle() else 0
            if idle == 2:
                again += pending.values()
                break
        for future in finished:
            task = pending.pop(future)
            if future.cancelled():
                again.append(task)
                continue
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                lost.append(task)
                broken = True
            elif type(error).__name__ == "KilledWorker":  # dask's; the cluster goes on with new workers
                lost.append(task)
            else:
                done(future.result() if error is None else Outcome(task, None, cause(error)))
    return lost, again + waiting[::-1]
