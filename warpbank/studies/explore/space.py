"""Design space: the legal combinations of the rooms' units on one machine, and the values of their main
parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from warpbank.arch.config import config_hash, with_overrides
from warpbank.arch.errors import ArgumentError, ConfigError
from warpbank.arch.names import unknown
from warpbank.arch.overrides import field_paths
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import BASELINE, SCHEMES, parse_scheme
from warpbank.program.errors import WarpbankError
from warpbank.program.options import DEFAULT_OPTIONS
from warpbank.sim import experiment as exp
from warpbank.studies.combinations import ROOMS, Combination, room_of
from warpbank.studies.compare.settings import Setting, one_machine

#: Value of a configuration field.
Value = int | str


@dataclass(frozen=True)
class Point:
    """Point of the design space: a register file.

    Parameters
    ----------
    scheme : scheme string.
    overrides : fields that differ from the machine's own, as after `--set`.
    """

    scheme: str
    overrides: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of a few words: the scheme, and the last word of each field with its value."""
        return " ".join((self.scheme, *(text.rpartition(".")[2] for text in self.overrides)))

    @property
    def rows(self) -> dict[str, str]:
        """Name of the row in each of `ROOMS`; "" where the baseline's unit stays."""
        found = dict.fromkeys(ROOMS, "")
        for name in self.scheme.split("+"):
            if name != BASELINE.name:
                found[room_of(SCHEMES[name])] = name
        return found


@dataclass(frozen=True)
class Space:
    """Design space on one machine.

    Parameters
    ----------
    combinations : legal ones, the first of which every value is compared with.
    preset : the machine, or a TOML file; `overrides`: as after `--set`.
    vary : further fields and their values, for all combinations.
    """

    combinations: tuple[Combination, ...]
    preset: str = exp.DEFAULT_PRESET
    overrides: tuple[str, ...] = ()
    vary: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, values in self.vary.items():
            if path not in field_paths(self.machine):
                raise ArgumentError(f"--vary: {unknown('field', path, field_paths(self.machine))}")
            refused = [value for value in values if not self._takes(path, value)]
            if len(refused) < len(values):
                # A number may be one that the machines of some combinations take; text is a choice, or none.
                refused = [value for value in refused if isinstance(value, str)]
            if refused:
                with_overrides(self.machine, [f"{path}={refused[0]}"])  # says why

    def _takes(self, path: str, value: Value) -> bool:
        try:
            with_overrides(self.machine, [f"{path}={value}"])
        except ConfigError:
            return False
        return True

    @cached_property
    def machine(self) -> SmConfig:
        """Machine before any scheme or parameter changes it."""
        return exp.find_config(self.preset, None, list(self.overrides))

    @property
    def base(self) -> Point:
        """Point that every value is compared with: the baseline at the machine's own values."""
        return Point(BASELINE.name)

    def points(self) -> list[Point]:
        """Every combination at the machine's own values, the base first."""
        return list(dict.fromkeys((self.base, *(Point(each.scheme) for each in self.combinations))))

    def fields(self, scheme: str) -> dict[str, tuple[Value, ...]]:
        """Parameters of a scheme and their values, the machine's own first: those that its units' rows name,
        and those that the user varies."""
        found: dict[str, tuple[Value, ...]] = {}
        for unit in parse_scheme(scheme).units:
            found.update(unit.tried)
        found.update(self.vary)
        return {
            path: tuple(dict.fromkeys((own_value(self.machine, path), *values)))
            for path, values in found.items()
        }

    def point(self, scheme: str, values: Mapping[str, Value]) -> Point:
        """Point of a scheme with these values of its parameters; values that change nothing of its machine
        are left out.

        Raises
        ------
        WarpbankError : the machine cannot be, or cannot have the scheme.
        """
        kept = [f"{path}={value}" for path, value in values.items()]
        whole = self._hash(scheme, kept)
        for text in list(kept):
            fewer = [other for other in kept if other != text]
            try:
                if self._hash(scheme, fewer) == whole:
                    kept = fewer
            except WarpbankError:
                continue  # the others need it
        return Point(scheme, tuple(kept))

    def _hash(self, scheme: str, overrides: Sequence[str]) -> str:
        return config_hash(parse_scheme(scheme).machine(with_overrides(self.machine, overrides)))

    def setting(self, point: Point) -> Setting:
        """Machine, scheme and scheduler of a point: the baseline's scheduler, unless the scheme works under
        another only."""
        made = one_machine([point.scheme], self.preset, (*self.overrides, *point.overrides), DEFAULT_OPTIONS)
        return next(each for each in made if each.name == point.scheme)


def own_value(config: SmConfig, path: str) -> Value:
    """Value of a field of the machine."""
    found = config.to_dict()
    for part in path.split("."):
        found = found[part]
    assert isinstance(found, int | str)
    return found
