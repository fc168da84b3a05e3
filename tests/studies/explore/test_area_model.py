"""Models of area and critical path on made-up units whose prices are known, and on the recorded ones."""

from __future__ import annotations

import numpy as np
import pytest

from warpbank.studies.explore.area_model import (
    Error,
    Sample,
    fitted,
    left_out,
    power_law,
    prices,
    recorded,
    recorded_arrays,
)
from warpbank.studies.explore.counts import KINDS
from warpbank.synth import memories

DRAW = np.random.default_rng(5)
PRICES = dict(zip(KINDS, (6.0, 0.4, 1.0, 1.5, 0.2, 6.0, 0.5), strict=True))
ARRAYS = {
    f"a{reads}{writes}": (reads, writes, 1.0 + 2.0 * reads + 3.0 * writes)
    for reads in (0, 1, 4)
    for writes in (1, 2)
}


def sample(unit: str, noise: float = 0.0) -> Sample:
    """Unit of random logic at known prices."""
    bits = {kind: float(DRAW.integers(10, 5000)) for kind in KINDS}
    levels = float(DRAW.integers(5, 300))
    area = sum(PRICES[kind] * amount for kind, amount in bits.items())
    size = sum(bits.values())
    return Sample(
        unit,
        {"bits": bits, "memories": [], "levels": levels},
        area * float(np.exp(noise * DRAW.standard_normal())),
        0.05 * (1 + levels) ** 0.5 * (1 + size) ** 0.1,
    )


def test_known_prices_are_found() -> None:
    model = fitted([sample(f"u{place}") for place in range(30)], ARRAYS)
    unseen = sample("unseen")
    assert model.area(unseen.counts)[0] == pytest.approx(unseen.area_um2, rel=1e-6)
    assert model.delay(unseen.counts) == pytest.approx(unseen.delay_ns, rel=1e-6)
    for error in model.errors:
        assert error.within(0.9) == pytest.approx(1.0, abs=1e-6)


def test_noise_shows_in_the_error_of_leaving_one_out() -> None:
    model = fitted([sample(f"u{place}", noise=0.3) for place in range(40)], ARRAYS)
    assert 1.1 < model.errors[0].within(0.5) < 1.5
    assert model.errors[0].within(0.9) > model.errors[0].within(0.5)


def test_a_unit_is_judged_by_a_model_that_has_not_seen_it() -> None:
    """A kind of logic that one unit alone has: fitted with that unit, its price would be right."""
    kinds = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    error = left_out("x", list("abcd"), kinds, np.array([5.0, 10.0, 15.0, 7.0]), prices)
    assert error.ratios["a"] == pytest.approx(1.0)
    assert error.ratios["d"] < 1e-6  # nobody else knows the price of its logic


def test_no_price_is_negative() -> None:
    features = DRAW.random((20, 3))
    target = features @ np.array([3.0, -1.0, 2.0]) + 1.0
    said = prices(features, target)(np.eye(3))
    assert (said >= 0).all()
    assert (said == 0).any()


def test_a_power_law_is_a_line_of_logarithms() -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0])
    fit = power_law(np.column_stack([np.ones(4), np.log(x)]), 3.0 * x**0.5)
    assert fit(np.array([[1.0, np.log(16.0)]]))[0] == pytest.approx(12.0)


def test_memories_are_tiled_or_priced_by_their_ports() -> None:
    model = fitted([sample(f"u{place}") for place in range(20)], ARRAYS)
    empty = {"bits": dict.fromkeys(KINDS, 0.0), "levels": 1.0}
    sram = model.area({**empty, "memories": [[128, 256, 1, 1, 1, True, 3]]})[1]
    assert sram == pytest.approx(3 * memories.sram(128, 256).area)
    array = model.area({**empty, "memories": [[12, 1024, 7, 1, 2, False, 2]]})[1]
    assert array == pytest.approx(2 * 12 * 1024 * (1 + 2 + 6))


def test_the_error_is_a_factor_up_or_down() -> None:
    error = Error("x", {"a": 0.5, "b": 1.0, "c": 1.25, "d": 4.0})
    assert error.within(0.25) == 1.0
    assert error.within(0.5) == 1.25
    assert error.within(1.0) == 4.0
    assert error.to_dict()["samples"] == 4


def test_recorded_units_are_read_with_their_arrays() -> None:
    found = recorded("ocu")
    assert found["area_um2"] > 1000
    assert found["config"]["preset"] == "turing"
    assert recorded("no such unit") == {}
    shape = next(row for row in found["memories"] if row["kind"] == "array")
    counts = {"memories": [[shape["rows"], shape["width"], shape["reads"], 0, shape["writes"], False, 2]]}
    (array,) = recorded_arrays([Sample("ocu", counts, 1.0, 1.0)]).values()
    assert array[:2] == (0, shape["writes"])
    assert array[2] == pytest.approx(shape["area_um2"] / (shape["rows"] * shape["width"]))
    assert recorded_arrays([Sample("ocu", {"memories": []}, 1.0, 1.0)]) == {}
