"""Sweep description, in Python or as a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from warpbank import workloads
from warpbank.arch import toml
from warpbank.arch.config import with_overrides
from warpbank.arch.errors import ArgumentError, ConfigError
from warpbank.arch.names import unknown
from warpbank.arch.overrides import field_paths
from warpbank.arch.schemes import BASELINE
from warpbank.program.errors import WarpbankError
from warpbank.program.options import FREE_REGISTERS, CodeOrder, CompileOptions, ConstantPlace, choice
from warpbank.program.toml_table import Table
from warpbank.sim import experiment as exp
from warpbank.sim.runs import RunSpec
from warpbank.studies.errors import SweepError

#: Compile options that a sweep takes values of, in the order of its points.
_COMPILE = ("max_registers", "code_order", "constants", "free_registers")
#: Value of a configuration field.
Value = int | str


#: Most runs of a sweep.
MOST_RUNS = 1_000_000
#: Bound of whole numbers: what a column of the table holds.
_MOST = 1 << 63


@dataclass(frozen=True)
class Sweep:
    """Sweep of every kernel on every scheme, with every combination of the other values.

    Parameters
    ----------
    kernels : shipped kernels, or PTX files with a launch description beside them.
    schemes : scheme strings.
    sizes : problem sizes of shipped kernels.
    presets : machines, or TOML files that describe one.
    fields : dotted path of a configuration field -> its values.
    scheme_fields : scheme -> further fields and their values, which only runs of that scheme take.
    max_registers, code_order, constants, free_registers : options of the compiler, with the values of
        `warpbank.run`.
    engine : golden, verilator or pysim.
    sample : estimate every run from representative parts of it (docs/sampling.md), on golden.

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
    code_order: tuple[str, ...] = (CodeOrder.SCHEDULED.value,)
    constants: tuple[str, ...] = (ConstantPlace.BANK.value,)
    free_registers: tuple[int, ...] = (FREE_REGISTERS,)
    engine: str = "golden"
    scheme_fields: dict[str, dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    sample: bool = False

    def __post_init__(self) -> None:
        for name, given in (("fields", self.fields), ("scheme_fields", self.scheme_fields)):
            if not isinstance(given, dict):
                raise SweepError(f"sweep: {name} takes a dictionary by name, not {given!r}")
        if not isinstance(self.engine, str):
            raise SweepError(f"sweep: engine takes a name in quotes, not {self.engine!r}")
        if not isinstance(self.sample, bool):
            raise SweepError(f"sweep: sample takes True or False, not {self.sample!r}")
        lists: dict[str, tuple[Any, ...]] = {
            "kernels": self.kernels,
            "schemes": self.schemes,
            "size": self.sizes,
            "preset": self.presets,
            **{name: getattr(self, name) for name in _COMPILE},
            **self.fields,
        }
        for name, values in lists.items():
            if not isinstance(values, tuple | list):
                raise SweepError(f"sweep: {name} takes several values, such as ({values!r},), not {values!r}")
            if not values:
                raise SweepError(f"sweep: {name} has no values")
            for value in values:
                if name in ("kernels", "schemes", "size", "preset") and not isinstance(value, str):
                    raise SweepError(f"sweep: {name} takes names in quotes, not {value!r}")
                if isinstance(value, str) and "\0" in value:
                    raise SweepError(f"sweep: {name} takes names without NUL characters, not {value!r}")
            _check_different(name, values)
        count = prod(len(values) for values in lists.values())
        if count > MOST_RUNS:
            raise SweepError(f"sweep: its lists make {count} runs; at most {MOST_RUNS} can be asked for")
        try:
            list(self._compiled())
        except ArgumentError as error:
            raise SweepError(f"sweep: {error}") from None
        for kernel, size, preset in product(self.kernels, self.sizes, self.presets):
            RunSpec(kernel, size, preset=preset, engine=self.engine, sample=self.sample).check()
        for scheme in self.schemes:
            exp.find_scheme(scheme)
        for preset, (path, values) in product(self.presets, self.fields.items()):
            _check_field(preset, path, values)
        for scheme, fields in self.scheme_fields.items():
            self._check_own(scheme, fields)

    def _check_own(self, scheme: str, fields: object) -> None:
        """Check the fields of one scheme."""
        if scheme not in self.schemes:
            raise SweepError(
                f"sweep: scheme_fields: {unknown('scheme of this sweep', str(scheme), self.schemes)}"
            )
        if not isinstance(fields, dict):
            raise SweepError(f"sweep: scheme_fields: {scheme} takes fields and their values, not {fields!r}")
        for path, values in fields.items():
            name = f"{path} of {scheme}"
            if path in self.fields:
                raise SweepError(f"sweep: {name} stands in fields, too, for all schemes; leave one out")
            if not isinstance(values, tuple | list) or not values:
                raise SweepError(f"sweep: {name} takes several values, not {values!r}")
            _check_different(name, values)
            for preset in self.presets:
                _check_field(preset, path, tuple(values))

    @property
    def field_values(self) -> dict[str, tuple[Value, ...]]:
        """Every field that any run sets, and all values it has."""
        found = {path: tuple(values) for path, values in self.fields.items()}
        for fields in self.scheme_fields.values():
            for path, values in fields.items():
                found[path] = tuple(dict.fromkeys((*found.get(path, ()), *values)))
        return found

    def __len__(self) -> int:
        return len(list(self.points()))

    def points(self) -> Iterator[tuple[RunSpec, dict[str, Value]]]:
        """Points of the sweep, runs and the values of their fields, in order: kernels change slowest, fields
        fastest, a scheme's own last."""
        for kernel, size, scheme, preset in product(self.kernels, self.sizes, self.schemes, self.presets):
            fields = {**self.fields, **self.scheme_fields.get(scheme, {})}
            for options, values in product(self._compiled(), product(*fields.values())):
                chosen = dict(zip(fields, values, strict=True))
                overrides = tuple(f"{path}={value}" for path, value in chosen.items())
                spec = RunSpec(
                    kernel, size, scheme, preset, overrides, options, self.engine, sample=self.sample
                )
                yield spec, chosen

    def _compiled(self) -> Iterator[CompileOptions]:
        """Compile options of the points, in order. Raises ArgumentError for a value that cannot be."""
        for registers, order, constants, free in product(*(getattr(self, name) for name in _COMPILE)):
            place = choice(ConstantPlace, "constants", constants)
            yield CompileOptions(choice(CodeOrder, "code_order", order), place, free, registers)


def _check_different(name: str, values: Sequence[Any]) -> None:
    """The values are whole numbers, texts or None, each once."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | str | None):
            raise SweepError(f"sweep: {name} takes whole numbers or texts in quotes, not {value!r}")
    if len(set(values)) != len(values):
        raise SweepError(f"sweep: {name} has a value twice: {', '.join(map(str, values))}")


def _check_field(preset: str, path: str, values: tuple[Value, ...]) -> None:
    """The field exists, and its values are of its kind."""
    machine = exp.find_config(preset, None, [])
    if path not in field_paths(machine):
        try:
            with_overrides(machine, [f"{path}=0"])  # says it better: groups, near names
        except ConfigError as error:
            raise SweepError(f"sweep: fields: {error}") from None
        raise SweepError(f"sweep: fields: {unknown('field', path, field_paths(machine))}")
    for value in values:
        if value is None:
            raise SweepError(f"sweep: fields: {path} takes whole numbers or texts in quotes, not None")
        if isinstance(value, int) and not -_MOST <= value < _MOST:
            raise SweepError(f"sweep: fields: {path} takes whole numbers of at most 64 bits, not {value}")
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
        content = toml.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SweepError(f"cannot read the sweep {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SweepError(f"cannot read the sweep {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SweepError(f"{path} is not TOML: {error}") from None
    top = Table(str(path), "", content, SweepError)
    kernels = tuple(_kernel(path, name) for name in workloads.expand(_texts(top, "kernels", ())))
    fields = top.take("fields", (dict,), {})
    own = top.take("scheme_fields", (dict,), {})
    for scheme, values in own.items():
        if not isinstance(values, dict):
            top.fail(f"scheme_fields.{scheme}", f"takes fields and their values, not {values!r}")
    engine = top.take("engine", (str,), "golden")
    sample = top.take("sample", (bool,), False)
    options: dict[str, Any] = {name: _values(top, name) for name in _COMPILE if name in content}
    lists: dict[str, Any] = {
        name: _texts(top, key, default)
        for name, key, default in (
            ("schemes", "schemes", Sweep.schemes),
            ("sizes", "size", Sweep.sizes),
            ("presets", "preset", Sweep.presets),
        )
    }
    lists["presets"] = tuple(_machine(path, name) for name in lists["presets"])
    top.known += [name for name in _COMPILE if name not in content]
    top.done()
    if not kernels:
        top.fail("kernels", "names at least one kernel")
    flat = dict(_flat(top, fields, ""))
    of_schemes = {
        scheme: dict(_flat(top, values, "", f"scheme_fields.{scheme}.")) for scheme, values in own.items()
    }
    try:
        return Sweep(
            kernels, fields=flat, engine=engine, sample=sample, scheme_fields=of_schemes, **lists, **options
        )
    except WarpbankError as error:
        raise SweepError(f"{path}: {str(error).removeprefix('sweep: ')}") from None


def _kernel(path: Path, name: str) -> str:
    """A PTX file is found from the folder of the sweep's file."""
    return str(path.parent / name) if name.endswith(".ptx") else name


def _values(table: Table, key: str) -> tuple[Any, ...]:
    """Values of a compile option; a single one is a list of one."""
    values = table.take(key, (int, str, list))
    return tuple(values) if isinstance(values, list) else (values,)


def _machine(path: Path, name: str) -> str:
    """A machine's TOML file is found from the folder of the sweep's file."""
    return str(path.parent / name) if exp.is_file(name) else name


def _texts(table: Table, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    values = table.take(key, (str, list), list(default))
    values = [values] if isinstance(values, str) else values
    for value in values:
        if not isinstance(value, str):
            table.fail(key, f"takes names in quotes, not {value!r}")
    return tuple(values)


def _flat(
    table: Table, fields: dict[str, Any], prefix: str, where: str = "fields."
) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Fields by dotted path; a single value is a list of one."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(table, value, f"{prefix}{name}.", where)
            continue
        values = value if isinstance(value, list) else [value]
        for each in values:
            if not isinstance(each, int | str) or isinstance(each, bool):
                table.fail(f"{where}{prefix}{name}", f"takes whole numbers or strings, not {each!r}")
        yield f"{prefix}{name}", tuple(values)
