"""libor: Monte Carlo of the LIBOR market model with a portfolio of swaptions; the rates of a path are in
local memory."""

from __future__ import annotations

import numpy as np

from warpbank.program.launch import Argument, Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

RATES_MAX = 80
SWAPTIONS_MAX = 15
PERIOD, INITIAL_RATE = np.float32(0.25), np.float32(0.05)

#: Paths, forward rates, steps simulated, swaptions, threads of a CTA.
_SIZES = {"tiny": (50, 12, 4, 5, 64), "small": (250, 20, 10, 8, 64), "full": (1900, 40, 20, 15, 64)}


def _build(size: str) -> Job:
    paths, rates, steps, swaptions, threads = _SIZES[size]
    rng = np.random.default_rng(33)
    normals = rng.standard_normal((steps, paths)).astype(np.float32)
    volatility = np.full(RATES_MAX, 0.2, np.float32) + (0.05 * np.exp(-0.1 * np.arange(RATES_MAX))).astype(
        np.float32
    )
    maturity = np.zeros(SWAPTIONS_MAX, np.int32)
    maturity[:swaptions] = np.sort(rng.integers(1, rates - steps + 1, swaptions))
    swap_rate = np.zeros(SWAPTIONS_MAX, np.float32)
    swap_rate[:swaptions] = np.linspace(0.045, 0.055, swaptions)

    period = float(PERIOD)
    rate = np.full((rates, paths), float(INITIAL_RATE))
    for n in range(steps):
        shock = np.sqrt(period) * normals[n].astype(np.float64)
        drift = np.zeros(paths)
        for i in range(n + 1, rates):
            vol = float(volatility[i - n - 1])
            variance = period * vol
            drift += variance * rate[i] / (1 + period * rate[i])
            rate[i] *= np.exp(variance * drift + vol * (shock - variance / 2))
    bond = np.cumprod(1 / (1 + period * rate[steps:]), axis=0)
    annuity = period * np.cumsum(bond, axis=0)
    value = np.zeros(paths)
    for last, fixed in zip(maturity[:swaptions] - 1, swap_rate[:swaptions], strict=True):
        swap = bond[last] + float(fixed) * annuity[last] - 1
        value -= 100 * np.minimum(swap, 0)
    value /= np.prod(1 + period * rate[:steps], axis=0)

    ptx, path = ptx_text("libor")
    scalars = [np.int32(v) for v in (paths, rates, steps, swaptions)]
    args: tuple[Argument, ...] = ("normals", "values", *scalars, PERIOD, INITIAL_RATE)
    return Job(
        name="libor",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"normals": normals, "values": np.zeros(paths, np.float32)},
        launches=[Launch("libor_value", (-(-paths // threads), 1, 1), (threads, 1, 1), args)],
        # A swap's value is a small difference of bonds near 1, times 100 per swaption: about 1e-6 absolute in
        # each bond, from the roundings and the approximate exponentials of all steps.
        expected={"values": Expected(value.astype(np.float32), rtol=5e-5, atol=1e-3)},
        symbols={"volatility": volatility, "maturity": maturity, "swap_rate": swap_rate},
    )


WORKLOAD = Workload(
    "libor", "Monte Carlo of the LIBOR market model, arrays in local memory", "GPGPU-Sim LIB", _build
)
