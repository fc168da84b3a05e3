"""Engines of a scenario: the golden model, the RTL in Amaranth's simulator, and the RTL compiled by
Verilator."""

from __future__ import annotations

from warpbank.arch.names import unknown
from warpbank.sim.engines.base import Engine, EngineError, Waves
from warpbank.sim.engines.golden import GoldenEngine
from warpbank.sim.engines.rtl import RtlEngine

__all__ = ["ENGINES", "Engine", "EngineError", "RtlEngine", "Waves", "engine", "rtl_engine"]

#: Engine names, and what each is.
ENGINES = {
    "golden": "the cycle-accurate model in Python",
    "verilator": "the RTL, compiled by Verilator",
    "pysim": "the RTL in Amaranth's simulator: slow, needs no C++ compiler",
}


def engine(name: str, *, fast: bool = True) -> Engine:
    """Engine of that name; `fast`: Verilator's model is compiled for speed.

    Raises EngineError that lists the known ones, or names what has to be installed.
    """
    if name == "golden":
        return GoldenEngine()
    if name not in ENGINES:
        raise EngineError(unknown("engine", name, ENGINES))
    return rtl_engine(name, fast=fast)


def rtl_engine(name: str, *, fast: bool = True) -> RtlEngine:
    """The engine of that name that simulates the RTL. Raises EngineError, as `engine` does."""
    simulators = [known for known in ENGINES if known != "golden"]
    if name not in simulators:
        raise EngineError(unknown("engine of the RTL" if name == "golden" else "engine", name, simulators))
    try:
        if name == "pysim":
            from warpbank.sim.engines.pysim import PysimEngine

            return PysimEngine()
        from warpbank.sim.engines.model import Build
        from warpbank.sim.engines.verilator import VerilatorEngine

        return VerilatorEngine(Build(fast=fast))
    except ModuleNotFoundError as error:
        raise EngineError(
            f"the {name} engine needs the {error.name} package; install it with: pip install 'warpbank[rtl]'"
        ) from None
