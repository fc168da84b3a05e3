"""Connection to a cluster: a scheduler that is reached without TLS is named, unless it is on this machine; a
client that is closed is not waited for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from warpbank.sim.errors import ClusterError
from warpbank.sim.runs import cluster


@pytest.mark.parametrize("address", ["tcp://head:8786", "head:8786", "tcp://10.0.0.7:8786", "ws://head:80"])
def test_a_way_without_tls_is_named(address: str) -> None:
    with pytest.warns(UserWarning, match=rf"{address} is reached without TLS: .* a tls:// address"):
        cluster._warn_of_open_ways(address)


@pytest.mark.parametrize(
    "address",
    ["tls://head:8786", "tcp://127.0.0.1:8786", "127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:1"],
)
def test_tls_and_this_machine_are_not(address: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cluster._warn_of_open_ways(address)


def test_the_warning_comes_before_the_connection() -> None:
    """The address belongs to nobody: what is beyond the warning fails."""
    with (
        pytest.warns(UserWarning, match="without TLS"),
        pytest.raises(ClusterError),
        cluster.connect("nosuch://192.0.2.1:1", 1),
    ):
        pass


@pytest.mark.parametrize("status", ["closing", "closed", "running"])
def test_a_client_that_does_not_answer_is_not_waited_for(status: str) -> None:
    """A closed one is not asked at all; one that runs, for some seconds."""
    done: list[Callable[[Any], None]] = []
    remote = Mock()
    remote.add_done_callback = done.append
    remote.result.side_effect = TimeoutError
    client = Mock(status="running")
    client.submit.return_value = remote
    future = cluster.Cluster(client, Mock()).submit(Mock())
    client.status = status
    done[0](remote)
    assert future.cancelled()
    assert [dict(call.kwargs) for call in remote.result.call_args_list] == (
        [{"timeout": cluster._ANSWER}] if status == "running" else []
    )
