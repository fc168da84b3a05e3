"""Sweep table, one Parquet file whose columns docs/sweep.md documents."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpbank.arch.counters import COUNTERS
from warpbank.arch.errors import MissingPackageError, OutputError
from warpbank.arch.events import Stall
from warpbank.arch.schemes import BASELINE
from warpbank.program.cache import behind_links, whole
from warpbank.program.runner import tool_versions
from warpbank.sim import experiment as exp
from warpbank.sim import extensions
from warpbank.sim.output import check_file
from warpbank.sim.runs import Outcome, RunSpec
from warpbank.studies.sweep.description import Sweep
from warpbank.synth.energy import COMMON, Energy, energy, table

#: Columns of what was run, with their kinds; those of the sweep's fields follow.
DESCRIPTION = {
    "kernel": "text",
    "size": "text",
    "scheme": "text",
    "preset": "text",
    "engine": "text",
    "max_registers": "int",
    "code_order": "text",
    "constants": "text",
    "free_registers": "int",
}
#: Before the path of a configuration field, since a counter may have the same name.
FIELD = "field."
#: Columns of how it ended, by the keys of `Report.to_dict()`.
RESULT = {
    "config_hash": "text",
    "trace": "text",
    "cycles": "int",
    "warp_instructions": "int",
    "ipc": "float",
    "operands_checked": "int",
}
#: Columns of a sweep that samples: half the intervals that hold IPC and cycles with 95 % confidence, and the
#: warp instructions that were simulated.
SAMPLE = {"ipc_margin": "float", "cycles_margin": "float", "simulated": "int"}


def columns(description: Sweep) -> dict[str, str]:
    """Columns, names and kinds, in order; only the fields differ from sweep to sweep."""
    kinds = dict(DESCRIPTION)
    for path, values in description.field_values.items():
        kinds[FIELD + path] = "int" if all(isinstance(value, int) for value in values) else "text"
    kinds |= {"failed": "bool", "error": "text", **RESULT}
    kinds |= {f"stall.{reason.name.lower()}": "int" for reason in Stall}
    kinds |= dict.fromkeys(COUNTERS, "int")
    if description.sample:
        kinds |= SAMPLE
    return kinds | {"energy.dynamic": "float", "energy.leakage": "float"}


def row(spec: RunSpec, fields: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """Row of one run; what a failed one has no value for is missing."""
    result = outcome.result
    made: dict[str, Any] = {
        "kernel": spec.kernel,
        "size": spec.size,
        "scheme": exp.find_scheme(spec.scheme).name,
        "preset": spec.preset,
        "engine": spec.engine,
        **spec.compile.to_dict(),
        "failed": result is None,
        "error": outcome.error,
        **{FIELD + path: value for path, value in fields.items()},
    }
    if result is None:
        return made
    spent = energy(result, table(COMMON), exp.find_config(spec.preset, None, list(spec.overrides)))
    return made | {"max_registers": result["max_registers"]} | measured(result, spent)


def measured(result: Mapping[str, Any], spent: Energy) -> dict[str, Any]:
    """Columns of how a run ended.

    Parameters
    ----------
    result : `Report.to_dict()` of the run.
    spent : its energy.
    """
    made = {name: result[name] for name in RESULT}
    made |= {f"stall.{reason}": count for reason, count in result["stalls"].items()}
    made |= result["counters"]
    if result.get("sample") is not None:
        made |= {name: result["sample"][name] for name in SAMPLE}
    return made | {"energy.dynamic": spent.dynamic_total, "energy.leakage": spent.leakage_total}


def write(description: Sweep, outcomes: Sequence[Outcome], path: Path) -> None:
    """Write the sweep's Parquet file, whole or not at all. Raises OutputError if that fails."""
    arrow, parquet = _pyarrow()
    types = {"text": arrow.string(), "int": arrow.int64(), "float": arrow.float64(), "bool": arrow.bool_()}
    kinds = columns(description)
    rows = [
        row(spec, fields, outcome)
        for (spec, fields), outcome in zip(description.points(), outcomes, strict=True)
    ]
    made_by = {
        "baseline": BASELINE.name,
        "energy_table": COMMON,
        "versions": tool_versions() | extensions.versions(),
    }
    schema = arrow.schema(
        [(name, types[kind]) for name, kind in kinds.items()], metadata={"warpbank": json.dumps(made_by)}
    )
    data = {name: [_cell(each.get(name), kind) for each in rows] for name, kind in kinds.items()}
    try:
        file = behind_links(path)
        temporary = file.with_name(f".{file.name}.{os.getpid()}.part")
        with whole(file, temporary):
            parquet.write_table(arrow.Table.from_pydict(data, schema=schema), temporary)
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}; name a file in a folder that exists"
        ) from None


def check_writable(path: Path, description: Sweep, file: Path | None = None) -> None:
    """Check, before anything is run, that pyarrow is there and that the table can be written in the end, over
    nothing that the sweep reads; `file`: the description's own. Raises MissingPackageError, OutputError."""
    _pyarrow()
    files = [each for kernel in description.kernels for each in exp.files(kernel, None, None)]
    files += [each for preset in description.presets for each in exp.files(None, None, preset)]
    check_file(path, file, *files)


def _cell(value: Any, kind: str) -> Any:
    return str(value) if kind == "text" and value is not None else value


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise MissingPackageError(
            "a sweep needs the pyarrow package; install it with: pip install 'warpbank[cluster]'"
        ) from None
    return pyarrow, parquet
