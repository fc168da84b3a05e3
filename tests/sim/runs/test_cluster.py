"""A scheduler that is reached without TLS is named, unless it is on this machine."""

from __future__ import annotations

import warnings

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
