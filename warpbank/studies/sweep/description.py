"""Sweep description, in Python or as a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from warpbank.arch.config import preset as preset_of
from warpbank.arch.config import with_overrides
from warpbank.arch.errors import ConfigError
from warpbank.arch.names import unknown
from warpbank.arch.overrides import field_paths
from warpbank.arch.schemes import BASELINE
from warpbank.program.errors import WarpbankError
from warpbank.program.toml_table import Table
from warpbank.sim import experiment as exp
from warpbank.sim.runs import RunSpec
from warpbank.studies.errors import SweepError

#: Value of a configuration field.
Value = int | str


@dataclass(frozen=True)
class Sweep:
    """Sweep of every kernel on every scheme, with every combination of the other values.

    Parameters
    ----------
    kernels : shipped kernels, or PTX files with a launch description beside them.
    schemes : scheme strings.
    sizes : problem sizes of shipped kernels.
    presets : machines.
    fields : dotted path of a configuration field -> its values.
    max_registers : registers per thread; None: as many as let one CTA of the largest launch fit.
    engine : golden, verilator or pysim.

    Raises SweepError for an empty list or a value of the wrong kind, and KernelError, SchemeError,
    ConfigError or EngineError for an unknown name. Values that are right by themselves but impossible
    together are no error here: those runs fail.
    """

    kernels: tuple[str, ...]
    schemes: tuple[str, ...] = (BASELINE.name,)
    sizes: tuple[str, ...] = ("small",)
    presets: tuple[str, ...] = (exp.DEFAULT_PRESET,)
    fields: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    max_registers: tuple[int | None, ...] = (None,)
    engine: str = "golden"

    def __post_init__(self) -> None:
        lists: dict[str, tuple[Any, ...]] = {
            "kernels": self.kernels,
            "schemes": self.schemes,
            "size": self.sizes,
            "preset": self.presets,
            "max_registers": self.max_registers,
            **self.fields,
        }
        for name, values in lists.items():
            if not isinstance(values, tuple | list):
                raise SweepError(f"sweep: {name} takes several values, such as ({values!r},), not {values!r}")
            if not values:
                raise SweepError(f"sweep: {name} has no values")
            if len(set(values)) != len(values):
                raise SweepError(f"sweep: {name} has a value twice: {', '.join(map(str, values))}")
        for name in ("kernels", "schemes", "size", "preset"):
            for value in lists[name]:
                if not isinstance(value, str):
                    raise SweepError(f"sweep: {name} takes names in quotes, not {value!r}")
        for count in self.max_registers:
            if count is not None and (type(count) is not int or not exp.MIN_REGISTERS <= count <= 255):
                raise SweepError(
                    f"sweep: max_registers takes numbers from {exp.MIN_REGISTERS} to 255, not {count!r}"
                )
        for kernel, size, preset in product(self.kernels, self.sizes, self.presets):
            RunSpec(kernel, size, preset=preset, engine=self.engine).check()
        for scheme in self.schemes:
            exp.find_scheme(scheme)
        for preset, (path, values) in product(self.presets, self.fields.items()):
            _check_field(preset, path, values)

    def __len__(self) -> int:
        return len(list(self.points()))

    def points(self) -> Iterator[tuple[RunSpec, dict[str, Value]]]:
        """Points of the sweep, runs and the values of their fields, in order: kernels change slowest, fields
        fastest."""
        machines = [
            (registers, values)
            for registers in self.max_registers
            for values in product(*self.fields.values())
        ]
        for kernel, size, scheme, preset in product(self.kernels, self.sizes, self.schemes, self.presets):
            for registers, values in machines:
                chosen = dict(zip(self.fields, values, strict=True))
                overrides = tuple(f"{path}={value}" for path, value in chosen.items())
                yield RunSpec(kernel, size, scheme, preset, overrides, registers, self.engine), chosen


def _check_field(preset: str, path: str, values: tuple[Value, ...]) -> None:
    """The field exists, and its values are of its kind."""
    machine = preset_of(preset)
    if path not in field_paths(machine):
        try:
            with_overrides(machine, [f"{path}=0"])  # says it better: groups, near names
        except ConfigError as error:
            raise SweepError(f"sweep: fields: {error}") from None
        raise SweepError(f"sweep: fields: {unknown('field', path, field_paths(machine))}")
    old: Any = machine.to_dict()
    for part in path.split("."):
        old = old[part]
    if isinstance(old, int):
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool):
                raise SweepError(f"sweep: fields: {path} takes whole numbers, such as {old}, not {value!r}")


def read_sweep(path: Path) -> Sweep:
    """Sweep that a TOML file describes. Raises SweepError that names the file and the key."""
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise SweepError(f"cannot read the sweep {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SweepError(f"{path} is not TOML: {error}") from None
    top = Table(str(path), "", content, SweepError)
    kernels = tuple(_kernel(path, name) for name in _texts(top, "kernels", ()))
    if not kernels:
        top.fail("kernels", "names at least one kernel")
    fields = top.take("fields", (dict,), {})
    engine, registers = top.take("engine", (str,), "golden"), top.take("max_registers", (int, list), None)
    counts: tuple[Any, ...] = tuple(registers) if isinstance(registers, list) else (registers,)
    for count in counts:
        if registers is not None and (not isinstance(count, int) or not 16 <= count <= 255):
            top.fail("max_registers", f"takes numbers from 16 to 255, not {count!r}")
    lists = {
        name: _texts(top, key, default)
        for name, key, default in (
            ("schemes", "schemes", Sweep.schemes),
            ("sizes", "size", Sweep.sizes),
            ("presets", "preset", Sweep.presets),
        )
    }
    top.done()
    try:
        return Sweep(
            kernels, fields=dict(_flat(top, fields, "")), max_registers=counts, engine=engine, **lists
        )
    except WarpbankError as error:
        raise SweepError(f"{path}: {str(error).removeprefix('sweep: ')}") from None


def _kernel(path: Path, name: str) -> str:
    """A PTX file is found from the folder of the sweep's file."""
    return str(path.parent / name) if name.endswith(".ptx") else name


def _texts(table: Table, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    values = table.take(key, (str, list), list(default))
    values = [values] if isinstance(values, str) else values
    for value in values:
        if not isinstance(value, str):
            table.fail(key, f"takes names in quotes, not {value!r}")
    return tuple(values)


def _flat(table: Table, fields: dict[str, Any], prefix: str) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Fields by dotted path; a single value is a list of one."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(table, value, f"{prefix}{name}.")
            continue
        values = value if isinstance(value, list) else [value]
        for each in values:
            if not isinstance(each, int | str) or isinstance(each, bool):
                table.fail(f"fields.{prefix}{name}", f"takes whole numbers or strings, not {each!r}")
        yield f"{prefix}{name}", tuple(values)
