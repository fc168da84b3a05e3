"""State of a golden machine between two cycles: as bytes, and from bytes into a machine that was just made.

A pickle holds the objects of the machine. Those that every machine of one trace, configuration and scheme has
(the trace itself, the sub-cores, the probes and their ports) are in it by name, so that a trace of any length
costs nothing. Objects of classes that mypyc has compiled are pickled by their attributes, which is what
Python does with those of their sources.

A pickle is code: whoever can write one runs what he likes in the process that reads it.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from warpbank.arch.uop import Control, Unit
from warpbank.golden.lfsr import Lfsr
from warpbank.golden.sm import Sm
from warpbank.golden.stream import Template, TraceUop

_PROTOCOL = 5
#: Objects of compiled classes that are not made without arguments.
_MADE = {
    Lfsr: lambda: Lfsr(1),
    TraceUop: lambda: TraceUop(Template(Unit.CONTROL, Control.NONE, (), 0, 0), 0, 0, 0, 0, 0, 0, [], []),
}


def dump(machine: Sm) -> bytes:
    """State of a machine, which must be between two cycles (`Sm.run`, `keep`)."""
    file = io.BytesIO()
    owners = {name: attributes(owner) for name, owner in _owners(machine).items()}
    counted = {
        probe.number: (
            probe.cycle,
            {name: (port.count, [each.total for each in port.sums]) for name, port in probe.ports.items()},
        )
        for probe in _probes(machine)
    }
    _Writer(file, _names(machine)).dump((owners, counted))
    return file.getvalue()


def load(machine: Sm, state: bytes) -> None:
    """Put a state into a machine of the same trace, configuration and scheme that has not run."""
    owners, counted = _Reader(io.BytesIO(state), _names(machine)).load()
    for name, owner in _owners(machine).items():
        _put(owner, owners[name])
    for probe in _probes(machine):
        probe.cycle, ports = counted[probe.number]
        for name, (count, totals) in ports.items():
            port = probe.ports[name]
            port.count = count
            for each, total in zip(port.sums, totals, strict=True):
                each.total = total


def attributes(thing: object) -> dict[str, Any]:
    """Attributes of an object that have a value, wherever its classes keep them."""
    kind = type(thing)
    names = [*getattr(kind, "__mypyc_attrs__", ())]
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    found = {
        name: getattr(thing, name) for name in names if not name.startswith("__") and hasattr(thing, name)
    }
    return {**found, **getattr(thing, "__dict__", {})}


def _owners(machine: Sm) -> dict[str, object]:
    """Objects whose attributes are the state, by name."""
    cores = {f"core {core.number}": core for core in machine.cores}
    return {"machine": machine, "dispatch": machine.ctas, "checker": machine.checker, **cores}


def _probes(machine: Sm) -> list[Any]:
    return [machine.probe, *(core.probe for core in machine.cores)]


def _names(machine: Sm) -> dict[str, object]:
    """Objects that every machine of this kind has, by name."""
    named = {**_owners(machine), "trace": machine.trace, "templates": machine.templates}
    for probe in _probes(machine):
        named[f"probe {probe.number}"] = probe
        named |= {f"port {probe.number} {name}": port for name, port in probe.ports.items()}
    return named


def _blank(kind: Any) -> object:
    """Object of a class, without attributes or with those that `_put` replaces."""
    make = _MADE.get(kind)
    return kind.__new__(kind) if make is None else make()


def _put(thing: object, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(thing, name, value)


class _Writer(pickle.Pickler):
    """Pickler that names the objects that every machine has."""

    def __init__(self, file: io.BytesIO, named: dict[str, object]) -> None:
        super().__init__(file, _PROTOCOL)
        self._names = {id(each): name for name, each in named.items()}

    def persistent_id(self, obj: object) -> str | None:
        """Name of an object that is not pickled."""
        return self._names.get(id(obj))

    def reducer_override(self, obj: Any) -> Any:
        """How an object of a compiled class, or of one that extends one, is made and filled."""
        kind = type(obj)
        compiled = hasattr(kind, "__mypyc_attrs__")
        if (not compiled and kind not in _MADE) or isinstance(obj, type | Enum | tuple):
            return NotImplemented
        if kind.__reduce__ is not object.__reduce__:
            return NotImplemented
        if is_dataclass(obj) and kind.__dataclass_params__.frozen:
            return kind, tuple(getattr(obj, field.name) for field in fields(obj))
        return _blank, (kind,), attributes(obj), None, None, _put


class _Reader(pickle.Unpickler):
    """Unpickler that finds the objects that every machine has by their names."""

    def __init__(self, file: io.BytesIO, named: dict[str, object]) -> None:
        super().__init__(file)
        self._named = named

    def persistent_load(self, pid: Any) -> object:
        """Object of this name."""
        return self._named[pid]
