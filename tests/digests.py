"""Digest recorder: one hash for every event of every cycle of a run on the golden model, for all legal
schemes.

A refactoring changes no event. `python -m tests.digests record FILE` before it and
`python -m tests.digests compare FILE` after it show that. A run is a scheme on a machine with a trace: three
kernels at `tiny`, and seeded random programs on two presets.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.events import Record
from warpbank.golden.sm import simulate
from warpbank.program import runner
from warpbank.program.random_programs.hinted import SMALL, random_for
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines.golden import form
from warpbank.studies.combinations import KERNELS, combinations

#: The digests of the golden model as it is.
RECORDED = Path(__file__).with_name("digests.json")
#: Random programs per scheme and machine.
SEEDS = (1, 2)
#: Name -> preset and overrides of the machines for random programs.
RANDOM_MACHINES = {"tiny": ("tiny", SMALL), "turing": ("turing", ())}


@dataclass(frozen=True)
class Run:
    """A run that has a digest.

    Parameters
    ----------
    scheme : scheme string.
    program : a kernel's name, or `random-SEED`.
    machine : a preset, or a key of `RANDOM_MACHINES` for a random program.
    """

    scheme: str
    program: str
    machine: str

    @property
    def name(self) -> str:
        """Key of the digest in a file."""
        return f"{self.scheme} {self.program} {self.machine}"


def runs() -> Iterator[Run]:
    """All runs, in the order of the registry."""
    for each in combinations():
        if not each.legal:
            continue
        for kernel in KERNELS:
            yield Run(each.scheme, kernel, "tiny")
        for machine in RANDOM_MACHINES:
            for seed in SEEDS:
                yield Run(each.scheme, f"random-{seed}", machine)


class Digest:
    """A sink for events whose hash does not depend on the order within a cycle, which means nothing."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._cycles: dict[int, list[Record]] = {}

    def __call__(self, record: Record) -> None:
        self._cycles.setdefault(record[0], []).append(record)
        if len(self._cycles) > 4000:
            self._flush(keep=2000)

    def _flush(self, keep: int) -> None:
        """Hash all cycles but the `keep` newest: a unit may report an event some cycles before its own."""
        for cycle in sorted(self._cycles)[: len(self._cycles) - keep]:
            self._hash.update(repr(sorted(self._cycles.pop(cycle))).encode())

    def end(self, counters: dict[str, int], cycles: int) -> str:
        """The digest of all events, of the counters that are not 0, and of the length of the run."""
        self._flush(keep=0)
        self._hash.update(repr((cycles, sorted(item for item in counters.items() if item[1]))).encode())
        return self._hash.hexdigest()[:16]


def digest(run: Run) -> str:
    """Simulate the run on the golden model, operands checked, and hash what it reports."""
    trace: Trace
    scheme = exp.find_scheme(run.scheme)
    if run.program.startswith("random-"):
        name, overrides = RANDOM_MACHINES[run.machine]
        config = with_overrides(preset(name), overrides)
        trace = random_for(scheme, config, int(run.program.removeprefix("random-")))
    else:
        limit = runner.Options().max_instructions
        experiment = exp.find(run.program, "tiny", None, run.machine, None, run.scheme, [], None, limit)
        config = experiment.config
        trace = exp.hinted(experiment, runner.trace_job(experiment.job, exp.compile_options(experiment)))
    sink = Digest()
    result = simulate(trace, config, scheme, events=sink)
    return sink.end(result.counters, result.cycles)


def measure(
    wanted: list[Run], workers: int, tell: Callable[[int, int], None] | None = None
) -> dict[str, str]:
    """The digest of every run, by name."""
    found = {}
    with ProcessPoolExecutor(workers) as pool:
        for done, (run, made) in enumerate(
            zip(wanted, pool.map(digest, wanted, chunksize=4), strict=True), 1
        ):
            found[run.name] = made
            if tell is not None:
                tell(done, len(wanted))
    return found


def main() -> int:
    """Record or compare, as the command line says."""
    parser = argparse.ArgumentParser(
        description="Digests of every event of the golden model, for all legal schemes."
    )
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path, nargs="?", default=RECORDED, help="digests (default: %(default)s)")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every N-th run (default: %(default)s)"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only runs whose scheme has this text in it"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    given = parser.parse_args()
    wanted = [run for run in runs() if given.only in run.scheme][:: given.every]

    def tell(done: int, total: int) -> None:
        if done % 50 == 0 or done == total:
            sys.stderr.write(f"{done} of {total}\n")

    found = measure(wanted, given.workers, tell)
    if given.action == "record":
        kept = json.loads(given.file.read_text()) if given.file.exists() else {}
        every = {**kept, **found}
        written = {run.name: every[run.name] for run in runs() if run.name in every}
        given.file.write_text(json.dumps(written, indent=0) + "\n")
        return 0
    recorded = json.loads(given.file.read_text())
    wrong = [name for name, made in found.items() if recorded.get(name) != made]
    for name in wrong:
        sys.stdout.write(f"{name}: {recorded.get(name, 'not recorded')} -> {found[name]}\n")
    sys.stdout.write(f"{len(found)} runs, golden {form()}, {len(wrong)} differ\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
