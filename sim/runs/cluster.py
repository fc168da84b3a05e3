"""Dask cluster: one that is there already, or one of this process alone."""

from __future__ import annotations

import ipaddress
import logging
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from warpbank.arch.errors import MissingPackageError
from warpbank.sim import extensions
from warpbank.sim.errors import ClusterError
from warpbank.sim.runs.spec import Task
from warpbank.sim.runs.worker import ATTEMPTS, DIED, Outcome, children, perform_elsewhere, pool, submit

if TYPE_CHECKING:
    from distributed import Client

#: Instead of a scheduler's address: a cluster of this process, there for these tasks only.
LOCAL = "local"
#: Seconds that a worker may take to answer.
_ANSWER = 15.0
#: How long a dask scheduler may take to answer the first time.
_REACH = "10s"
#: The processes that do the tasks of a cluster of this process: by its name, of each of its workers' threads.
_apart: dict[str, dict[int, Executor]] = {}


class Cluster:
    """Cluster that takes tasks, as a pool of processes does.

    Parameters
    ----------
    client : of the cluster.
    does : performs a task on a worker.
    """

    def __init__(self, client: Client, does: Callable[..., Outcome], *first: object) -> None:
        self._client, self._does, self._first = client, does, first

    def submit(self, task: Task) -> Future[Outcome]:
        """Submit a task to the cluster. What it returns ends as the task does, or is cancelled where the
        cluster loses it."""
        # dask's own executor takes a result for an exception if its worker dies just then.
        remote = self._client.submit(self._does, *self._first, task, pure=False, retries=0)
        local: Future[Outcome] = Future()

        def hand_over(_: object) -> None:
            try:
                # A client that was closed, by Ctrl-C for one, answers nobody.
                if self._client.status != "running":
                    raise CancelledError
                outcome = remote.result(timeout=_ANSWER)
            except (CancelledError, TimeoutError):
                local.cancel()
                local.set_running_or_notify_cancel()  # wakes whoever waits
            except Exception as error:
                local.set_exception(error)
            else:
                local.set_result(outcome)

        remote.add_done_callback(hand_over)
        return local

    def workers(self) -> int:
        """Number of workers that the cluster has."""
        return len(self._client.nthreads())

    def idle(self) -> bool:
        """Whether the cluster has workers, and none of them executes anything."""
        try:
            if not self._client.nthreads():
                return False  # workers may still come
            scheduler: Any = self._client.scheduler
            return not self._client.sync(scheduler.call_stack, keys=None, callback_timeout=_ANSWER)
        except (OSError, TimeoutError):  # a worker that does not answer may be at work
            return False


@contextmanager
def connect(address: str, workers: int) -> Iterator[Cluster]:
    """Connection to the cluster whose scheduler is there, or to a `LOCAL` one of `workers` workers. Workers
    elsewhere need this version of Warpbank.

    Raises MissingPackageError if dask is not installed, ClusterError if no scheduler answers.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise MissingPackageError(
            "this needs the distributed package; install it with: pip install 'warpbank[cluster]'"
        ) from None
    quiet = {"logging.distributed": "critical", "distributed.scheduler.allowed-failures": ATTEMPTS - 1}
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(quiet))
        if address != LOCAL:
            _warn_of_open_ways(address)
            client = stack.enter_context(_reach(Client, address))
            yield Cluster(client, perform_elsewhere, extensions.parcel())
            return
        # Workers that are threads, each with a process of ours: where dask starts a dead process again, tasks
        # get lost.
        local: Any = stack.enter_context(
            LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=False,
                memory_limit=0,
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
        )
        client = stack.enter_context(Client(local))
        yield Cluster(client, _perform_apart, stack.enter_context(_processes()))


def _warn_of_open_ways(address: str) -> None:
    """Name a scheduler beyond this machine that is reached without TLS."""
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    host = place.hostname or ""
    if place.scheme in ("tls", "wss", "inproc") or host == "localhost" or _loops_back(host):
        return
    warnings.warn(
        f"the dask scheduler at {address} is reached without TLS: whoever is on the way can read the sweep, "
        "and run code on the workers and here; give it certificates and a tls:// address (docs/sweep.md)",
        stacklevel=4,
    )


def _loops_back(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _reach(client: Any, address: str) -> Any:
    """A client of this scheduler."""
    try:
        return client(address, timeout=_REACH)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no dask scheduler answers at {address} ({error}); start one with: dask scheduler"
        ) from None


@contextmanager
def _processes() -> Iterator[str]:
    """The name under which the threads of a cluster of this process find their processes, until they are
    stopped."""
    name = uuid4().hex
    with children():
        _apart[name] = {}
        try:
            yield name
        except BaseException:
            _stop(name, wait=False)
            raise
        _stop(name, wait=True)


def _stop(name: str, wait: bool) -> None:
    for executor in _apart.pop(name).values():
        executor.shutdown(wait=wait, cancel_futures=True)


def _perform_apart(name: str, task: Task) -> Outcome:
    """Do a task in the process of this thread; if that dies, in a new one."""
    mine = _apart[name]
    for _ in range(ATTEMPTS):
        if get_ident() not in mine:
            mine[get_ident()] = pool(1)
        try:
            return submit(mine[get_ident()], task).result()
        except BrokenProcessPool:
            del mine[get_ident()]
        if name not in _apart:
            break  # it was ended, with all that it had in hand
    return Outcome(task, None, DIED)
