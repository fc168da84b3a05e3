"""Configuration from the user: `--set a.b=value` and TOML files."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpbank.arch import toml
from warpbank.arch.errors import ConfigError
from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig, check_field
from warpbank.arch.presets import preset
from warpbank.arch.register_files import REGISTER_FILES


def with_overrides(config: SmConfig, overrides: Iterable[str]) -> SmConfig:
    """Return `config` with fields replaced, e.g. `["sub_core.banks=4", "l1.latency=20"]`, or with another
    main register file, `["rf7"]` (`warpbank.arch.register_files`). A later override wins over an earlier one.

    All of them are applied before anything is checked, so that fields that must fit each other can be changed
    together.

    Raises
    ------
    ConfigError : an override that is not `path=value`, an unknown field, a value of the wrong kind, an
        impossible combination.
    """
    values = config.to_dict()
    for text in overrides:
        if text.strip() in REGISTER_FILES:
            REGISTER_FILES[text.strip()].apply(values)
            continue
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise ConfigError(
                f"An override is written field=value, for example sub_core.banks=4, not {text!r}; "
                f"or it names a main register file: {', '.join(REGISTER_FILES)}."
            )
        _assign(values, path.strip(), value.strip())
    return _build(SmConfig, values)


def load_config(path: str | Path) -> SmConfig:
    """Read a configuration from a TOML file: `preset = "turing"` (the default), and tables such as
    `[sub_core]` with `banks = 4`.

    Raises ConfigError that names the file.
    """
    where = Path(path)
    try:
        content = toml.loads(where.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{where}: the configuration file cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: this is not TOML: {error}.") from error
    try:
        base = content.pop("preset", "turing")
        if not isinstance(base, str):
            raise ConfigError(f"preset must be a name in quotes, not {base!r}.")
        values = preset(base).to_dict()
        _merge(values, content, "")
        return _build(SmConfig, values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def from_dict(content: dict[str, Any]) -> SmConfig:
    """Build a configuration from nested dictionaries, the inverse of `SmConfig.to_dict`. An absent field
    takes the turing preset's value."""
    values = preset("turing").to_dict()
    _merge(values, content, "")
    return _build(SmConfig, values)


def field_paths(config: SmConfig) -> list[str]:
    """Return the dotted paths of all fields that can be overridden."""
    return [path for path in _paths(config.to_dict(), "") if path != "preset"]


def _paths(values: dict[str, Any], prefix: str) -> list[str]:
    found: list[str] = []
    for name, value in values.items():
        found += _paths(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name]
    return found


def _assign(values: dict[str, Any], path: str, text: str) -> None:
    """Put the parsed `text` at the dotted `path`."""
    table = values
    parts = path.split(".")
    for depth, part in enumerate(parts):
        if part not in table or path == "preset":
            near = [*table] if depth else [name for name in table if name != "preset"]
            everywhere = [known for known in _paths(values, "") if known.rpartition(".")[2] == parts[-1]]
            hint = (
                f" A field of that name is {', '.join(everywhere)}."
                if everywhere and path != "preset"
                else ""
            )
            where = f"configuration field of {'.'.join(parts[:depth])}" if depth else "configuration field"
            raise ConfigError(unknown(where, part, near) + hint)
        last = depth == len(parts) - 1
        if last == isinstance(table[part], dict):
            fields = ", ".join(table[part]) if last else ""
            raise ConfigError(
                f"{path} is a group of fields ({fields}); name one of them, for example "
                f"{path}.{next(iter(table[part]))}."
                if last
                else f"{'.'.join(parts[: depth + 1])} is a single field and has no {parts[depth + 1]!r} in "
                "it."
            )
        if last:
            table[part] = _parse(path, text, table[part])
        else:
            table = table[part]


def _parse(path: str, text: str, old: object) -> object:
    if isinstance(old, str):
        return text.strip("'\"")
    try:
        return int(text, 0)
    except ValueError:
        raise ConfigError(f"{path} takes a whole number, such as {old}, not {text!r}.") from None


def _merge(values: dict[str, Any], tables: dict[str, Any], prefix: str) -> None:
    for name, value in tables.items():
        if name not in values:
            raise ConfigError(
                unknown(
                    f"configuration field of {prefix[:-1]}" if prefix else "configuration field", name, values
                )
            )
        inner = isinstance(values[name], dict)
        if inner != isinstance(value, dict):
            expected = "is a table of fields" if inner else f"is a single value, such as {values[name]!r}"
            raise ConfigError(f"{prefix}{name} {expected}, not {value!r}.")
        if inner:
            _merge(values[name], value, f"{prefix}{name}.")
        else:
            values[name] = value


def _build(kind: Any, values: dict[str, Any]) -> Any:
    """Build the dataclass `kind` from nested dictionaries. Single fields are checked first, so that a message
    names the field at fault."""
    arguments: dict[str, Any] = {}
    for spec in dataclasses.fields(kind):
        value = values[spec.name]
        if isinstance(value, dict):
            made = spec.default_factory() if spec.default_factory is not dataclasses.MISSING else None
            arguments[spec.name] = _build(type(made), value)
        else:
            check_field(kind.__name__, spec, value)
            arguments[spec.name] = value
    return kind(**arguments)
