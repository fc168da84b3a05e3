"""Run hand-made kernels and ask the events when things happened."""

from __future__ import annotations

from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.arch.events import Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import Result, simulate
from warpbank.program.trace.schema import Trace


class Run:
    """A finished run on `preset` with `overrides`, and its events."""

    def __init__(self, trace: Trace, *overrides: str, machine: str = "tiny") -> None:
        self.config: SmConfig = with_overrides(preset(machine), overrides)
        self.events: list[Record] = []
        self.result: Result = simulate(trace, self.config, parse_scheme("baseline"), events=self.events)

    def order(self, name: str = "issue") -> list[tuple[int, int]]:
        """(warp, seq) in order of event `name`."""
        return [(values[0], values[1]) for _, _, event, values in self.events if event == name]

    def cycle(self, name: str, *values: int) -> int:
        """The cycle of the only event `name` whose fields begin with `values`."""
        found = [
            record[0] for record in self.events if record[2] == name and record[3][: len(values)] == values
        ]
        assert len(found) == 1, found
        return found[0]

    def cycles(self, name: str) -> list[int]:
        """Cycles of all events `name`."""
        return [cycle for cycle, _, event, _ in self.events if event == name]
