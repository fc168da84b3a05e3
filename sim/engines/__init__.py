"""One scenario, three engines: the golden model, the RTL in Amaranth's simulator, and the RTL compiled by Verilator."""

from __future__ import annotations

from arch.names import unknown
from sim.engines.base import Engine, EngineError, Waves
from sim.engines.golden import GoldenEngine

__all__ = ["ENGINES", "Engine", "EngineError", "Waves", "engine"]

#: Engine names, and what each is.
ENGINES = {
    "golden": "the cycle-accurate model in Python",
    "verilator": "the RTL, compiled by Verilator",
    "pysim": "the RTL in Amaranth's simulator: slow, needs no C++ compiler",
}


def engine(name: str) -> Engine:
    """The engine of that name. Raises EngineError that lists the known ones, or names what has to be installed."""
    if name == "golden":
        return GoldenEngine()
    if name not in ENGINES:
        raise EngineError(unknown("engine", name, ENGINES))
    try:
        if name == "pysim":
            from sim.engines.pysim import PysimEngine

            return PysimEngine()
        from sim.engines.verilator import VerilatorEngine

        return VerilatorEngine()
    except ModuleNotFoundError as error:
        raise EngineError(
            f"the {name} engine needs the {error.name} package; install it with: pip install 'warpbank[rtl]'"
        ) from None
