"""Functional coverage of a bench on exported Verilog: which events, handshakes and port values its stimulus
reached.

The points follow from the unit's ports, so no unit needs a list of its own:

* `events`: every event port was valid at least once;
* `streams`: every stream was idle, was offered and refused, and was taken;
* `ports`: every other port was zero, and was not.

Sampled at every clock edge, by cocotb-coverage. `warpbank verify` merges the files of all benches and prints
what lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from cocotb_coverage.coverage import CoverPoint, coverage_db

IDLE, REFUSED, TAKEN = "idle", "refused", "taken"


class Coverage:
    """Points of a component, as its exported ports have them.

    Parameters
    ----------
    unit : name, the root of the points.
    component : tells the ports; never elaborated.
    get : reads a port.
    """

    def __init__(self, unit: str, component: Any, get: Callable[[Any], Any]) -> None:
        ports = {
            tuple(str(part) for part in path): port
            for path, _, port in component.signature.flatten(component)
        }
        self._sample: Callable[[dict[str, Any]], None] = lambda _: None
        self._reads: dict[str, Callable[[], Any]] = {}
        for path, port in ports.items():
            *parent, last = path
            if not len(Value.cast(port)):
                continue
            if path[0] == "events":
                if last == "valid":
                    self._point(
                        unit,
                        "events",
                        "_".join(parent[1:]),
                        ["seen"],
                        lambda port=port: "seen" if get(port) else "",
                    )
            elif last == "valid" and (*parent, "ready") in ports:
                ready = ports[*parent, "ready"]
                self._point(
                    unit,
                    "streams",
                    "_".join(parent),
                    [IDLE, REFUSED, TAKEN],
                    lambda port=port, ready=ready: (TAKEN if get(ready) else REFUSED) if get(port) else IDLE,
                )
            elif not (last == "ready" and (*parent, "valid") in ports):
                self._point(
                    unit,
                    "ports",
                    "_".join(path),
                    ["zero", "other"],
                    lambda port=port: "other" if get(Value.cast(port)) else "zero",
                )

    def _point(self, unit: str, group: str, name: str, bins: list[str], read: Callable[[], Any]) -> None:
        full = f"warpbank.{unit}.{group}.{name}"
        self._reads[full] = read
        self._sample = CoverPoint(full, xf=lambda seen: seen[full], bins=bins)(self._sample)

    def sample(self) -> None:
        """Look at all ports; just before a clock edge."""
        self._sample({name: read() for name, read in self._reads.items()})

    def write(self, path: Path) -> None:
        """Write what was reached, as YAML."""
        coverage_db.export_to_yaml(str(path))
