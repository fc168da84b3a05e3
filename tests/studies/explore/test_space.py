"""Design space and its sampler."""

from __future__ import annotations

from typing import Any

import pytest

from warpbank.arch.errors import ArgumentError, ConfigError
from warpbank.arch.schemes import BASELINE, SCHEMES, parse_scheme
from warpbank.arch.units import UNITS
from warpbank.studies.combinations import combinations, named
from warpbank.studies.explore.parts import parts
from warpbank.studies.explore.sampling import Sampler
from warpbank.studies.explore.space import Point, Space, own_value

LEGAL = tuple(each for each in combinations() if each.legal)
SPACE = Space(LEGAL)


def space(only: str, **more: Any) -> Space:
    """Space of the combinations that have some rows."""
    return Space(tuple(each for each in named(only) if each.legal), **more)


def test_every_legal_combination_is_a_point_and_the_baseline_the_first() -> None:
    found = SPACE.points()
    assert len(found) == len(set(found)) == len(LEGAL) == 348
    assert found[0] == SPACE.base == Point(BASELINE.name)
    assert space("rfc").points()[0] == SPACE.base


def test_every_field_that_a_unit_tries_is_one_of_the_machine() -> None:
    tried = [unit for units in UNITS.values() for unit in units.values() if unit.tried]
    assert len(tried) > 5
    for unit in tried:
        for path, values in unit.tried.items():
            assert type(own_value(SPACE.machine, path)) is type(values[0]), unit.name
            for scheme in SCHEMES:
                if getattr(parse_scheme(scheme), unit.room) == unit.name:
                    for value in values:
                        SPACE.point(scheme, {path: value})


def test_fields_follow_from_the_units_and_begin_with_the_machine() -> None:
    fields = SPACE.fields("rfc+malekeh+renaming")
    assert fields["sub_core.cache.registers"] == (16, 8, 32)
    assert fields["sub_core.collector.cache_lines"] == (8, 16)
    assert fields["sub_core.mapping.table_bytes"] == (1024, 512, 2048)
    assert not any("window" in path for path in fields)
    varied = Space(LEGAL, vary={"sub_core.banks": (2, 4)})
    assert varied.fields("gscalar")["sub_core.banks"] == (2, 4)


def test_values_that_change_nothing_are_left_out() -> None:
    kept = SPACE.point("malekeh", {"sub_core.collectors": 4, "sub_core.collector.cache_lines": 8})
    assert kept == Point("malekeh", ("sub_core.collectors=4",))
    assert kept.name == "malekeh collectors=4"
    private = SPACE.point("malekeh-pr", {"sub_core.collectors": 4, "sub_core.collector.cache_lines": 16})
    assert private == Point("malekeh-pr", ("sub_core.collector.cache_lines=16",))


def test_what_cannot_be_varied_is_said() -> None:
    with pytest.raises(ArgumentError, match="--vary: Unknown field"):
        Space(LEGAL, vary={"sub_core.bank": (2,)})
    with pytest.raises(ConfigError, match="power of two"):
        Space(LEGAL, vary={"sub_core.banks": (3,)})
    with pytest.raises(ConfigError, match=r"sub_core\.banks takes a whole number, such as 2, not 'a'"):
        Space(LEGAL, vary={"sub_core.banks": (2, "a")})
    assert Space(LEGAL, vary={"sub_core.banks": (2, 3)}).vary == {"sub_core.banks": (2, 3)}


def test_a_point_runs_under_the_common_scheduler_unless_it_needs_another() -> None:
    assert SPACE.setting(Point("bow")).scheduler == SPACE.setting(SPACE.base).scheduler
    assert SPACE.setting(Point("ltrf+bow")).scheduler == "two_level"


def test_parts_are_shared_by_register_files_with_the_same_units() -> None:
    made = {each.name: each for each in parts(Point("rfc+bow+renaming+gscalar"), SPACE)}
    assert list(made) == ["collectors", "banks and network", "rfc", "renaming", "gscalar", "scheduler"]
    assert made["rfc"].rtl == parts(Point("rfc"), SPACE)[2].rtl
    assert made["rfc"].instead == parts(SPACE.base, SPACE)[1].rtl
    assert parts(Point("bow-wr"), SPACE)[0] == parts(Point("bow-wb"), SPACE)[0]
    assert parts(Point("bow-wr"), SPACE)[0] != parts(Point("bow"), SPACE)[0]
    assert parts(Point("malekeh-pr"), SPACE)[0] != parts(Point("malekeh"), SPACE)[0]
    every = {task for point in SPACE.points() for part in parts(point, SPACE) for task in part.tasks}
    assert len(every) < 40


def test_a_part_changes_with_its_own_parameters_only() -> None:
    own, wide = (
        parts(Point("rfc+malekeh", fields), SPACE)
        for fields in ((), ("sub_core.cache.registers=32", "sub_core.collector.cache_lines=16"))
    )
    changed = {a.name: b.rtl.overrides for a, b in zip(own, wide, strict=True) if a != b}
    assert changed == {
        "collectors": ("sub_core.collector.cache_lines=16",),
        "banks and network": ("sub_core.collector.cache_lines=16",),
        "rfc": ("sub_core.cache.registers=32",),
        "scheduler": ("sub_core.cache.registers=32",),
    }


def told(seed: int, count: int = 12) -> list[Point]:
    """Points that a sampler asks for after it was told what all combinations cost: most of all for areas."""
    small = space("malekeh")
    sampler = Sampler(small, 2, seed)
    sampler.tell(
        {
            point: (float(len(point.scheme)), -float(len(point.overrides)))
            if "bdi" not in point.scheme
            else None
            for point in small.points()
        }
    )
    return sampler.ask(count)


def test_the_sampler_asks_for_new_legal_points() -> None:
    small, found = space("malekeh"), told(3)
    assert len(set(found)) == len(found) == 12
    schemes = {each.scheme for each in small.combinations}
    for point in found:
        assert point.scheme in schemes
        assert point not in small.points()
        assert SPACE.setting(point).config  # a machine that can be


@pytest.mark.long
def test_equal_seeds_ask_for_equal_points() -> None:
    assert told(3) == told(3)
    assert told(3) != told(4)


def test_a_small_space_is_exhausted() -> None:
    small = Space(tuple(each for each in LEGAL if each.scheme in (BASELINE.name, "gscalar")))
    sampler = Sampler(small, 2, 1)
    sampler.tell({point: (1.0, float(place)) for place, point in enumerate(small.points())})
    found = sampler.ask(50)
    assert {point.name for point in found} == {
        f"{scheme} collectors={count}" for scheme in (BASELINE.name, "gscalar") for count in (4, 8)
    }
    sampler.tell(dict.fromkeys(found, (2.0, 2.0)))
    assert sampler.ask(5) == []
