"""Golden engine, the Python model as an engine."""

from __future__ import annotations

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden import sm
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.base import EngineError, Progress, Waves, check_trace
from warpbank.sim.events import Batcher, BatchSink


def form() -> str:
    """Form in which this process executes the model: `compiled` by mypyc, or `interpreted`."""
    return "interpreted" if str(sm.__file__).endswith(".py") else "compiled"


class GoldenEngine:
    """Engine of the golden model. It jumps over idle cycles unless somebody wants the events of every one of
    them."""

    name = "golden"
    #: The class of the machine; a view puts one here that it can look into.
    sm_class: type[Sm] = Sm

    def run(
        self,
        trace: Trace,
        config: SmConfig,
        scheme: Scheme,
        *,
        events: BatchSink | None = None,
        progress: Progress | None = None,
        check_operands: bool = True,
        waves: Waves | None = None,
    ) -> Result:
        """Run the trace to its end on the golden model."""
        if waves is not None:
            raise EngineError(
                "the golden model has no signals, so it cannot write waves; use --engine verilator or pysim"
            )
        check_trace(trace)
        batcher = Batcher(events) if events is not None else None
        machine = self.sm_class(
            trace, config, scheme, events=batcher, check_operands=check_operands, skip=batcher is None
        )
        result = machine.run(progress)
        if batcher is not None:
            batcher.finish(result.cycles)
        return result
