"""Sampling: representative launches, CTA waves and loop iterations stand for a whole kernel, whose cycles and
counters are estimated from them with a confidence interval."""

from warpbank.sim.sampling.estimate import Estimate, Sampled, sample
from warpbank.sim.sampling.settings import Settings

__all__ = ["Estimate", "Sampled", "Settings", "sample"]
