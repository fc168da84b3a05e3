"""SM of hdl/ as a testbench sees it: which of its ports is what. Both RTL engines read it.

For pysim the SM is one component. For Verilator it is two: the units that the sub-cores share, and one
sub-core, which stands for all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import UnusedElaboratable
from amaranth.lib import wiring

from warpbank.arch.events import EVENTS
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.hdl.cta_dispatch import Started
from warpbank.hdl.execute.lsu import Lines
from warpbank.hdl.interfaces import Fill, Immediate, WriteBack
from warpbank.hdl.probe import Events
from warpbank.hdl.sm import Sm
from warpbank.sim.engines.base import EngineError

# A component that is made to look at its ports, or whose maker fails half-way, is no mistake of anybody's.
warnings.filterwarnings("ignore", category=UnusedElaboratable)

#: Member names from the SM down to a port.
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class EventPath:
    """Event source in the RTL: sub-core (-1: the shared units, or the one sub-core), event name, and the path
    of its bundle of signals."""

    core: int
    name: str
    path: Path


@dataclass
class Design:
    """Component and the paths of what the testbench serves and listens to.

    Parameters
    ----------
    component : the SM, the units that its sub-cores share, or a sub-core.
    fills : per sub-core, its `warpbank.hdl.interfaces.Fill`.
    writes : (sub-core, path) of every bank's `warpbank.hdl.interfaces.WriteBack`.
    lines : the load/store unit's `warpbank.hdl.execute.lsu.Lines`.
    immediates : (sub-core, path) of every `warpbank.hdl.interfaces.Immediate`.
    started : the CTA dispatcher's `warpbank.hdl.cta_dispatch.Started`.
    events : every event instance.
    """

    component: Any
    fills: list[Path] = field(default_factory=list)
    writes: list[tuple[int, Path]] = field(default_factory=list)
    lines: list[Path] = field(default_factory=list)
    immediates: list[tuple[int, Path]] = field(default_factory=list)
    started: Path = ()
    events: list[EventPath] = field(default_factory=list)

    def at(self, path: Path) -> Any:
        """The signal or interface at `path`."""
        found = self.component
        for part in path:
            found = found[part] if isinstance(part, int) else getattr(found, part)
        return found


def design(config: SmConfig, scheme: Scheme) -> Design:
    """Make the SM with its probe. Raises EngineError if this machine cannot be built in RTL."""
    return _described(_make(config, scheme, apart=False))


def parts(config: SmConfig, scheme: Scheme) -> tuple[Design, Design]:
    """Make the units that the sub-cores share, and one sub-core, with their probes. Raises EngineError if
    this machine cannot be built in RTL."""
    sm = _make(config, scheme, apart=True)
    return _described(sm), _described(sm.cores[0])


def _make(config: SmConfig, scheme: Scheme, apart: bool) -> Sm:
    try:
        return Sm(config, scheme, probe=True, apart=apart)
    except (ValueError, KeyError, NotImplementedError) as error:
        raise EngineError(
            f"the RTL of scheme {scheme.name} cannot be built for this configuration: {error}"
        ) from None


def _described(component: Any) -> Design:
    """The component and what its ports are. Those of a sub-core by itself have no number of one."""
    made = Design(component)
    for path, signature in _interfaces(component.signature, ()):
        index = path[1] if len(path) > 1 and isinstance(path[1], int) else -1
        if isinstance(signature, Fill):
            made.fills.append(path)
        elif isinstance(signature, WriteBack):
            made.writes.append((index, path))
        elif isinstance(signature, Immediate):
            made.immediates.append((index, path))
        elif isinstance(signature, Lines):
            made.lines.append(path)
        elif isinstance(signature, Started):
            made.started = path
        elif isinstance(signature, Events):
            for name, count in signature.counts.items():
                made.events += [EventPath(index, name, (*path, name, place)) for place in range(count)]
    return made


def _interfaces(signature: Any, prefix: Path) -> Iterator[tuple[Path, Any]]:
    """(path, signature) of every interface below, the largest first; arrays are unrolled."""
    for name, member in signature.members.items():
        if not member.is_signature:
            continue
        inner = (
            member.signature.flip()
            if isinstance(member.signature, wiring.FlippedSignature)
            else member.signature
        )
        for places in _places(member.dimensions):
            path = (*prefix, name, *places)
            yield path, inner
            yield from _interfaces(inner, path)


def _places(dimensions: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not dimensions:
        yield ()
        return
    for first in range(dimensions[0]):
        for rest in _places(dimensions[1:]):
            yield (first, *rest)


def port_name(path: Path) -> str:
    """The port's name in RTLIL and Verilog."""
    return "__".join(str(part) for part in path)


def field_names(event: str) -> list[str]:
    """Fields of an event, in registry order."""
    return [name for name, _ in EVENTS[event].fields]


def tail(config: SmConfig) -> int:
    """Drain time: cycles that the L2 may need to serve what waits when the last warp has drained."""
    return config.memory.queue * max(config.memory.l2_interval, config.memory.atomic_interval) + 8
