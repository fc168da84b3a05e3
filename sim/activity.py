"""Port activity of a unit while a real kernel runs through the SM around it, from which power is
estimated."""

from __future__ import annotations

from typing import Any
from unittest import mock

from amaranth.hdl import Value
from amaranth.lib.wiring import Out

from warpbank.program import runner
from warpbank.program.errors import WarpbankError
from warpbank.sim import experiment as exp
from warpbank.sim.engines.design import design
from warpbank.sim.engines.pysim import PysimSession
from warpbank.synth.netlist import ports
from warpbank.synth.power import Stimulus
from warpbank.synth.units import UNITS, make

#: Cycles after which a recording ends.
CYCLES = 2000


def record(unit: str, experiment: exp.Experiment, cycles: int = CYCLES) -> Stimulus:
    """Run a kernel in Amaranth's simulator and note the ports of the first instance of a unit, from the first
    cycle on.

    Parameters
    ----------
    unit : see `warpbank.synth.units`.
    experiment : kernel, machine, scheme.
    cycles : most of them.

    Raises
    ------
    WarpbankError : the SM of this scheme has no such unit, or one with other ports.
    """
    alone = make(unit, experiment.config, experiment.scheme)
    expected = {port.name: port.width for port in ports(alone)}
    trace = exp.hinted(experiment, runner.trace_job(experiment.job, exp.compile_options(experiment)))
    instances: list[Any] = []
    kind = UNITS[unit].component
    elaborate = kind.elaborate  # type: ignore[attr-defined]

    def with_metadata(self: Any, platform: object) -> Any:
        if type(self) is kind:
            instances.append(self)
        return elaborate(self, platform)

    with mock.patch.object(kind, "elaborate", with_metadata):
        session = PysimSession(
            design(experiment.config, experiment.scheme),
            trace,
            experiment.config,
            events=False,
            check_operands=True,
            waves=None,
        )
    found = next((one for one in instances if _widths(one).items() >= expected.items()), None)
    if found is None:
        raise WarpbankError(
            f"a kernel's activity cannot be taken for {unit}: the SM of scheme {experiment.scheme.name} has "
            f"{'one with other ports' if instances else 'none'}; name the scheme that uses it (--scheme), or "
            "leave out --kernel"
        )
    inputs: dict[str, list[int]] = {}
    outputs: dict[str, list[int]] = {}
    watched = []
    for path, member, signal in found.signature.flatten(found):
        name = "__".join(str(part) for part in path)
        if name in expected:
            watched.append(
                ((outputs if member.flow is Out else inputs).setdefault(name, []), Value.cast(signal))
            )
    inputs["rst"] = []

    async def sample(context: Any) -> None:
        async for _, _, *values in context.tick().sample(*(signal for _, signal in watched)):
            if len(inputs["rst"]) < cycles:
                inputs["rst"].append(0)
                for (column, _), value in zip(watched, values, strict=True):
                    column.append(value)

    session.watch(sample)
    while not session.finished and len(inputs["rst"]) < cycles:
        session.advance(session.cycle + 100)
    session.close()
    return Stimulus(
        inputs,
        outputs,
        f"Activity: {len(inputs['rst'])} cycles of {experiment.job.name} ({experiment.job.size}) on "
        f"{experiment.preset}, {experiment.scheme.name}, ports of the unit's first instance.",
    )


def _widths(component: Any) -> dict[str, int]:
    return {port.name: port.width for port in ports(component)}
