"""Worker processes hear Ctrl-C only once they can end without a word."""

from __future__ import annotations

import signal
from unittest.mock import Mock

from warpbank.sim.runs import worker


def test_a_process_that_starts_does_not_hear_ctrl_c() -> None:
    seen: list[set[signal.Signals]] = []
    executor = Mock()
    executor.submit.side_effect = lambda *_: seen.append(_blocked())
    before = _blocked()
    worker.submit(executor, Mock())
    assert [signal.SIGINT in each for each in seen] == [True]
    assert _blocked() == before


def test_a_worker_that_has_started_hears_it() -> None:
    with worker.processes(1) as pool:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            started = pool.submit(_blocked)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        assert signal.SIGINT not in started.result()


def _blocked() -> set[signal.Signals]:
    return {signal.Signals(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, ())}
