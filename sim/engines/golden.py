"""Golden engine, the Python model as an engine."""

from __future__ import annotations

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden import sm
from warpbank.golden.result import Result
from warpbank.golden.sm import Sm
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines.base import EngineError, Progress, Waves, check_trace
from warpbank.sim.engines.checkpoint import Checkpoint, experiment_of
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
        checkpoint: Checkpoint | None = None,
    ) -> Result:
        """Run the trace to its end on the golden model.

        Parameters (beyond those of every engine)
        ----------
        events : an attribute `wanted` of it names the events that it reads; others are counted and not made.
        checkpoint : where the run goes on if it is there, and what is written now and then. A run with events
            has none: those of its first part are gone.

        Raises
        ------
        CheckpointError : the checkpoint is refused.
        """
        if waves is not None:
            raise EngineError(
                "the golden model has no signals, so it cannot write waves; use --engine verilator or pysim"
            )
        check_trace(trace)
        batcher = Batcher(events) if events is not None else None
        machine = self.sm_class(
            trace,
            config,
            scheme,
            events=batcher,
            wanted=getattr(events, "wanted", None),
            check_operands=check_operands,
            skip=batcher is None,
        )
        if checkpoint is None:
            result = machine.run(progress)
        else:
            if batcher is not None:
                raise EngineError("a run with a checkpoint reports no events; leave the checkpoint out")
            checkpoint.begin(machine, experiment_of(trace, config, scheme, check_operands, form()))
            result = machine.run(progress, keep=checkpoint.keep)
            checkpoint.end()
        if batcher is not None:
            batcher.finish(result.cycles)
        return result
