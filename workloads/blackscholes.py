"""European options by the Black-Scholes formula: independent elements, many special functions."""

import numpy as np

from warpbank.program.launch import Expected, Job, Launch
from warpbank.workloads import Workload, ptx_text

_SHAPE = {"tiny": (500, 4), "small": (10_000, 40), "full": (100_001, 200)}  # options, CTAs
_THREADS = 128
_RATE, _VOLATILITY = np.float32(0.02), np.float32(0.30)


def _normal_cdf(d: np.ndarray) -> np.ndarray:
    """The kernel's polynomial (Abramowitz and Stegun 26.2.17), in double precision."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * d * d) / np.sqrt(2 * np.pi) * poly
    return np.where(d > 0, 1.0 - tail, tail)


def _build(size: str) -> Job:
    n, ctas = _SHAPE[size]
    rng = np.random.default_rng(7)
    spot = rng.uniform(5, 30, n).astype(np.float32)
    strike = rng.uniform(1, 100, n).astype(np.float32)
    years = rng.uniform(0.25, 10, n).astype(np.float32)

    s, x, t = (v.astype(np.float64) for v in (spot, strike, years))
    rate, volatility = float(_RATE), float(_VOLATILITY)
    spread = volatility * np.sqrt(t)
    d1 = (np.log(s / x) + (rate + 0.5 * volatility**2) * t) / spread
    n1, n2 = _normal_cdf(d1), _normal_cdf(d1 - spread)
    discounted = x * np.exp(-rate * t)
    call = s * n1 - discounted * n2
    put = discounted * (1.0 - n2) - s * (1.0 - n1)

    ptx, path = ptx_text("blackscholes")
    empty = np.full(n, np.nan, np.float32)
    args = ("spot", "strike", "years", "call", "put", _RATE, _VOLATILITY, np.int32(n))
    return Job(
        name="blackscholes",
        size=size,
        ptx=ptx,
        ptx_path=path,
        buffers={"spot": spot, "strike": strike, "years": years, "call": empty, "put": empty.copy()},
        launches=[Launch("blackscholes", (ctas, 1, 1), (_THREADS, 1, 1), args)],
        # The price is a difference of two terms of up to 100; each carries a few units of 2^-24 from the
        # approximate exp and log.
        expected={
            "call": Expected(call.astype(np.float32), rtol=1e-5, atol=1e-4),
            "put": Expected(put.astype(np.float32), rtol=1e-5, atol=1e-4),
        },
    )


WORKLOAD = Workload("blackscholes", "prices of European options", "CUDA SDK BlackScholes", _build)
