"""Record of agreement: the legal schemes whose RTL was seen to have every event of the golden model, kept by
what was compared and not by the sources that made it.

`warpbank schemes --check` forgets what it found with every change of a source. Here a scheme stands with the
hash of its circuit (RTLIL, without source places) and, per program, the hash of the trace and of the golden
model's events. A change that leaves those alone leaves the entry valid, so a check of all schemes, which
takes hours, can be made in parts:

    python -m tests.agreed run --seconds 3000
    python -m tests.agreed list

The harness is not part of an entry: it compares, and takes no part in what the circuit does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.digests import Digest
from warpbank.arch.config import preset
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.sm import simulate
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim.engines import model
from warpbank.sim.engines.design import parts
from warpbank.sim.engines.model import Build
from warpbank.sim.engines.verilator import VerilatorEngine
from warpbank.sim.lockstep import lockstep
from warpbank.sim.output import write_text
from warpbank.sim.runs import store
from warpbank.studies.combinations import PROGRAMS, SOURCES, LockstepRun, combinations

#: What was seen so far.
RECORDED = Path(__file__).with_name("agreed.json")
#: The machine of every run.
MACHINE = "tiny"


@dataclass(frozen=True)
class _Unoptimized(Build):
    """Build of a model that is run for some thousand cycles."""

    @property
    def flags(self) -> list[str]:
        return ["-O0"]


@dataclass
class Entry:
    """Entry of a scheme.

    Parameters
    ----------
    circuit : hash of the circuit that was compared; "": none.
    programs : program -> hash of its trace and of the golden model's events, of those found equal.
    sources : digest of the sources when circuit and programs were last looked at: a short cut, with which an
        entry is valid without being looked at.
    """

    circuit: str = ""
    programs: dict[str, str] = field(default_factory=dict)
    sources: str = ""


def _short(digest: Any) -> str:
    return str(digest.hexdigest()[:16])


def _machine(scheme: str) -> tuple[SmConfig, Scheme]:
    found = exp.find_scheme(scheme)
    return found.machine(preset(MACHINE)), found


def circuit(scheme: str) -> str:
    """Hash of the circuit of a scheme: the RTLIL of the units that the sub-cores share and of a sub-core."""
    return model.circuit_of(model.netlists(*parts(*_machine(scheme))))


@cache
def hardware(scheme: str) -> str:
    """Key of the model of a scheme: schemes that differ in what the compiler does alone share one."""
    return model.key(*_machine(scheme), _Unoptimized())


def built(scheme: str) -> str:
    """Hash of the circuit of a scheme whose model is built, if it is not yet, and kept."""
    return (model.library(*_machine(scheme), _Unoptimized()).parent / model.CIRCUIT).read_text()


def behaviour(trace: Trace, config: SmConfig, scheme: Scheme) -> str:
    """Hash of a trace and of all that the golden model reports of it."""
    digest, sink = hashlib.sha256(), Digest()
    for name in ("code", "launches", "warps", "dynamic", "values", "lines", "immediates"):
        digest.update(getattr(trace, name).tobytes())
    result = simulate(trace, config, scheme, events=sink)
    digest.update(sink.end(result.counters, result.cycles).encode())
    return _short(digest)


def _prepared(scheme: str, program: str) -> tuple[Trace, SmConfig, Scheme]:
    return LockstepRun(scheme, program, MACHINE, (), "verilator").prepared()


def look(scheme: str, entry: Entry, sources: str) -> Entry:
    """Entry of a scheme with the circuit of today, and those of its programs that need not be run again."""
    if entry.sources == sources:
        return entry
    today = circuit(scheme)
    same = {
        program: digest
        for program, digest in entry.programs.items()
        if today == entry.circuit and program in PROGRAMS and digest == behaviour(*_prepared(scheme, program))
    }
    return Entry(today, same, sources)


def missing(entry: Entry) -> list[str]:
    """Programs on which an entry does not say that the two are equal."""
    return [program for program in PROGRAMS if program not in entry.programs]


def check(scheme: str, entry: Entry, sources: str) -> tuple[Entry, list[str]]:
    """Run what is missing of an entry in lockstep. Returns the entry with what was equal, and what was not:
    a line a program."""
    if entry.programs:
        entry = look(scheme, entry, sources)
    else:  # a model is needed in any case, and knows its circuit
        entry = Entry(built(scheme), {}, sources)
    engine, wrong = VerilatorEngine(_Unoptimized()), []
    for program in missing(entry):
        task = _prepared(scheme, program)
        divergence = lockstep(*task, engine).divergence
        if divergence is None:
            entry.programs[program] = behaviour(*task)
        else:
            wrong.append(f"{scheme} {program}: {divergence.reason}")
    return entry, wrong


def read(path: Path) -> dict[str, Entry]:
    """Entries by scheme."""
    return (
        {name: Entry(**each) for name, each in json.loads(path.read_text()).items()} if path.exists() else {}
    )


def write(path: Path, entries: dict[str, Entry]) -> None:
    """Write the entries of legal schemes, in the registry's order, whole or not at all."""
    kept = {
        scheme: asdict(entries[scheme])
        for scheme in schemes()
        if scheme in entries and entries[scheme].circuit
    }
    write_text(path, json.dumps(kept, indent=0) + "\n")


def schemes() -> list[str]:
    """Legal schemes."""
    return [each.scheme for each in combinations() if each.legal]


def run(path: Path, wanted: list[str], seconds: float, workers: int) -> list[str]:
    """Check schemes until the time is over, those with programs that have not run first, and write what was
    found after each. Returns what differs."""
    entries, wrong, started = read(path), [], time.monotonic()
    sources = store.code_digest(*SOURCES)
    open_ = [scheme for scheme in wanted if not _valid(entries.get(scheme), sources)]
    waiting = _beside(sorted(open_, key=lambda scheme: not missing(entries.get(scheme, Entry()))))
    busy: dict[Future[tuple[Entry, list[str]]], str] = {}
    with ProcessPoolExecutor(workers) as pool:
        while busy or waiting:
            while waiting and len(busy) < workers and time.monotonic() - started < seconds:
                scheme = waiting.pop(_next(waiting, [hardware(each) for each in busy.values()]))
                busy[pool.submit(check, scheme, entries.get(scheme, Entry()), sources)] = scheme
            if not busy:
                break
            for done in wait(busy, return_when=FIRST_COMPLETED).done:
                scheme = busy.pop(done)
                entries[scheme], found = done.result()
                wrong += found
                write(path, entries)
                sys.stderr.write(f"{scheme}: {'; '.join(found) or 'equal'}, {len(waiting)} waiting\n")
    return wrong


def _beside(schemes: Iterable[str]) -> list[str]:
    """Schemes in order, but those that share a model one behind the other: the cache has a limit."""
    groups: dict[str, list[str]] = {}
    for scheme in schemes:
        groups.setdefault(hardware(scheme), []).append(scheme)
    return [scheme for group in groups.values() for scheme in group]


def _next(waiting: list[str], models: list[str]) -> int:
    """Place of the first scheme whose model nobody builds now; 0 if there is none."""
    return next((place for place, scheme in enumerate(waiting) if hardware(scheme) not in models), 0)


def _valid(entry: Entry | None, sources: str) -> bool:
    return entry is not None and entry.sources == sources and not missing(entry)


def main() -> int:
    """List what is not in the record, or run it, as the command line says."""
    parser = argparse.ArgumentParser(description="Record of the schemes on which golden model and RTL agree.")
    parser.add_argument("action", choices=("list", "run"))
    parser.add_argument("--file", type=Path, default=RECORDED, help="the record (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only schemes that have this text in them")
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="start no scheme after this time (default: no end)",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: %(default)s)")
    given = parser.parse_args()
    wanted = [scheme for scheme in schemes() if given.only in scheme]
    wrong: list[str] = []
    if given.action == "run":
        wrong = run(given.file, wanted, given.seconds, given.workers)
    entries, sources = read(given.file), store.code_digest(*SOURCES)
    equal = [scheme for scheme in wanted if not missing(entries.get(scheme, Entry()))]
    looked = [scheme for scheme in equal if entries[scheme].sources == sources]
    for line in wrong or [scheme for scheme in wanted if scheme not in equal]:
        sys.stdout.write(f"{line}\n")
    summary = f"{len(equal)} in the record, {len(looked)} looked at since the last change"
    sys.stdout.write(f"{len(wanted)} legal schemes: {summary}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
