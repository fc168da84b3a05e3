"""`warpbank kernels`."""

from __future__ import annotations

import json

from tests.cli.command import warpbank
from warpbank import workloads

ALL = workloads.names(workloads.ALL)


def test_every_kernel_is_listed() -> None:
    done = warpbank("kernels")
    assert done.code == 0, done.err
    words = [line.split()[0] for line in done.out.splitlines() if line.split()]
    assert [word for word in words if word in ALL] == list(ALL)


def test_json() -> None:
    rows = json.loads(warpbank("kernels", "--json").out)["kernels"]
    assert [row["name"] for row in rows] == list(ALL)
    assert next(row for row in rows if row["name"] == "backprop") == {
        "name": "backprop",
        "summary": workloads.get("backprop").summary,
        "origin": "Rodinia backprop",
        "group": "core",
        "sizes": ["tiny", "small", "full"],
    }
