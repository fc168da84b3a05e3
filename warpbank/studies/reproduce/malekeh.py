"""Malekeh: figures about the caching collector units, on its Turing machine with four sub-cores."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.sim.runs import RunSpec, Task
from warpbank.sim.runs.spec import AnalysisSpec
from warpbank.studies.reproduce import sthld
from warpbank.studies.reproduce.measures import gain, hit_ratio, percent
from warpbank.studies.reproduce.paper import Figure, Paper, Results
from warpbank.synth.energy import energy, table

_PRESET = "turing"
#: Fixed waiting times of Fig. 7, in cycles.
_STHLDS = (0, 1, 2, 4, 8, 16)
#: Cycles of an interval that our short runs have several of; the paper has 10 000.
_SHORT = 1000
#: Cycles of an interval that every kernel lasts fifty of at `small`.
_FINE = 200
#: BOW as section VI-B sizes it: eight registers for each of three uops.
_BOW = ("sub_core.collector.window=3", "sub_core.collector.boc_entries=24")
_MIX = (
    "our kernels, compiled from our own PTX and scheduled by our list scheduler, are another mix than the "
    "paper's benchmarks"
)
_CACHES = (
    "RFC and SW-RFC have room for 16 registers of each active warp, and the same scheduler, which the "
    "paper's have not."
)
_SHORT_RUNS = (
    "With the paper's interval of 10 000 cycles the waiting time of our short runs has hardly begun to move; "
    f"{_SHORT} cycles show it moving"
)

#: What runs, by the name of its column: scheme and overrides.
_SCHEMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Malekeh": ("malekeh", ()),
    f"interval {_SHORT}": ("malekeh", (f"sub_core.collector.sthld_interval={_SHORT}",)),
    "Malekeh_PR": ("malekeh-pr", ()),
    "BOW": ("bow", _BOW),
    "STHLD 0": ("malekeh", ("sub_core.collector.sthld=0",)),
    "GTO and LRU": ("ccu-lru-gto", ()),
    "own unit kept": ("ccu-lru-own", ()),
    f"interval {_FINE}": ("malekeh", (f"sub_core.collector.sthld_interval={_FINE}",)),
}
_COMPARED = ("Malekeh", f"interval {_SHORT}", "Malekeh_PR", "BOW")
#: Malekeh with each waiting time.
_WAITING = ("STHLD 0", "Malekeh", f"interval {_SHORT}", f"interval {_FINE}")
#: Pairs that section VI-B compares: column, scheme, and what it is compared with.
_PAIRS = (("BOW over Malekeh", "BOW", "Malekeh"), ("Malekeh_PR over BOW", "Malekeh_PR", "BOW"))
#: Fig. 2, monolithic: one scheduler over warps, banks and collectors of four sub-cores, units as fast as
#: theirs together.
_MONOLITHIC = (
    "sub_cores=1",
    "sub_core.warps=32",
    "sub_core.banks=8",
    "sub_core.collectors=8",
    "sub_core.execute.alu.interval=1",
    "sub_core.execute.fma.interval=1",
    "sub_core.execute.sfu.interval=2",
    "sub_core.execute.tensor.interval=1",
    "sub_core.execute.fp64.interval=8",
)
#: Register files under two-level scheduling: name, scheme and overrides.
_TWO_LEVEL: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("two-level", "baseline", ("sub_core.front_end.scheduler=two_level",)),
    ("RFC", "rfc", ()),
    ("SW-RFC", "sw-rfc", ()),
)
#: Active warps of a scheduler, of the sub-cores and of the monolithic machine: 8 of an SM's 32.
_ACTIVE = {
    "sub-cores": ("sub_core.active_warps=2", ()),
    "monolithic": ("sub_core.active_warps=8", _MONOLITHIC),
}
#: Collectors whose room is counted.
_STORED = ("baseline", "Malekeh", "Malekeh_PR", "BOW")
_ADDED = "added by Malekeh"
_COUNTED = (
    "Counted from the configurations that the figures run: 6 slots in the baseline's collector, 8 lines "
    "in a CCU, 24 entries in a BOC."
)
#: Schemes of Fig. 16, which need to know what becomes of what they keep.
_KEEPERS = ("Malekeh", "BOW")
#: What watches a run, by the name of its column.
_OBSERVERS = {
    **dict.fromkeys(_KEEPERS, "warpbank.studies.reproduce.kept:Kept"),
    f"interval {_FINE}": "warpbank.studies.waiting:Waiting",
}


def _base(kernel: str, size: str) -> RunSpec:
    return RunSpec(kernel, size, "baseline", _PRESET)


def _run(name: str, kernel: str, size: str) -> RunSpec:
    scheme, overrides = _SCHEMES[name]
    return RunSpec(kernel, size, scheme, _PRESET, overrides, observer=_OBSERVERS.get(name, ""))


def _runs(*names: str) -> Callable[[str, str], list[Task]]:
    """Tasks: the baseline and these schemes."""
    return lambda kernel, size: [_base(kernel, size), *(_run(name, kernel, size) for name in names)]


# --- Section III-A and Fig. 1: reuse distances.


def _reuse(kernel: str, size: str) -> AnalysisSpec:
    arguments = (("threshold", preset(_PRESET).sub_core.collector.near_distance),)
    return AnalysisSpec(kernel, size, "warpbank.studies.reproduce.analyses:reuse", arguments, _PRESET)


def _fig1_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    classes = results[_reuse(kernel, size)]["classes"]
    shares = [percent(count, sum(classes)) for count in classes]
    return (*shares, shares[3] + shares[4])


def _hints_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_reuse(kernel, size)]
    return 100 * found["first"], 100 * found["all"]


# --- Fig. 2 and 10: two-level scheduling.


def _one_level(kernel: str, size: str, machine: str, scheduler: str = "scheme") -> RunSpec:
    overrides = _ACTIVE[machine][1]
    if scheduler != "scheme":
        overrides = (*overrides, f"sub_core.front_end.scheduler={scheduler}")
    return RunSpec(kernel, size, "baseline", _PRESET, overrides)


def _two_level(kernel: str, size: str, machine: str, scheme: str, overrides: tuple[str, ...]) -> RunSpec:
    active, shape = _ACTIVE[machine]
    return RunSpec(kernel, size, scheme, _PRESET, (*shape, *overrides, active))


def _fig2_tasks(kernel: str, size: str) -> list[Task]:
    tasks: list[Task] = []
    for machine in _ACTIVE:
        tasks += [_one_level(kernel, size, machine), _one_level(kernel, size, machine, "lrr")]
        tasks += [_two_level(kernel, size, machine, scheme, overrides) for _, scheme, overrides in _TWO_LEVEL]
    return tasks


def _fig2_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    pairs = [
        (_two_level(kernel, size, machine, scheme, overrides), machine)
        for _, scheme, overrides in _TWO_LEVEL
        for machine in _ACTIVE
    ]
    pairs += [(_one_level(kernel, size, machine, "lrr"), machine) for machine in _ACTIVE]
    return tuple(gain(results[task], results[_one_level(kernel, size, machine)]) for task, machine in pairs)


def _fig10_tasks(kernel: str, size: str) -> list[Task]:
    return [_two_level(kernel, size, "sub-cores", scheme, overrides) for _, scheme, overrides in _TWO_LEVEL]


def _fig10_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    row: list[float] = []
    for task in _fig10_tasks(kernel, size):
        result = results[task]
        cycles = sum(result["stalls"].values())
        issued, pending = result["stalls"]["issued"], result["counters"]["two_level.ready_pending"]
        row += [percent(count, cycles) for count in (issued, pending, cycles - issued - pending)]
    return tuple(row)


# --- Fig. 7: fixed waiting times.


def _fixed(kernel: str, size: str, waiting: int) -> RunSpec:
    return RunSpec(kernel, size, "malekeh", _PRESET, (f"sub_core.collector.sthld={waiting}",))


def _fig7_tasks(kernel: str, size: str) -> list[Task]:
    return [_fixed(kernel, size, waiting) for waiting in _STHLDS]


def _fig7_ipc_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    runs = [results[_fixed(kernel, size, sthld)] for sthld in _STHLDS]
    return tuple(gain(run, runs[0]) for run in runs[1:])


def _fig7_hits_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return tuple(hit_ratio(results[_fixed(kernel, size, sthld)]) for sthld in _STHLDS)


# --- Fig. 8: the walk of the adaptive waiting time.


def _walk_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return sthld.walk(results[_run(f"interval {_FINE}", kernel, size)])


def _intervals_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    """Whole intervals that the run lasts, of the paper's length and of ours."""
    names = ("Malekeh", f"interval {_FINE}")
    lengths = (preset(_PRESET).sub_core.collector.sthld_interval, _FINE)
    runs = (results[_run(name, kernel, size)] for name in names)
    return tuple(float(run["cycles"] // length) for run, length in zip(runs, lengths, strict=True))


# --- Fig. 12 to 17: schemes compared.


def _fig12_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    base = results[_base(kernel, size)]
    return tuple(gain(results[_run(name, kernel, size)], base) for name in _COMPARED)


def _fig12_pairs_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return tuple(
        gain(results[_run(one, kernel, size)], results[_run(other, kernel, size)]) for _, one, other in _PAIRS
    )


def _hits_row(*names: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    return lambda kernel, size, results: tuple(hit_ratio(results[_run(name, kernel, size)]) for name in names)


def _removed_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    base = results[_base(kernel, size)]["counters"]["rf.reads"]
    return tuple(
        100 - percent(results[_run(name, kernel, size)]["counters"]["rf.reads"], base) for name in _COMPARED
    )


def _fig13_pairs_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    hits = {name: hit_ratio(results[_run(name, kernel, size)]) for name in _COMPARED}
    return tuple(hits[one] - hits[other] for _, one, other in _PAIRS)


def _fig14_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    row = []
    for task in (_base(kernel, size), *(_run(name, kernel, size) for name in _KEEPERS)):
        counters = results[task]["counters"]
        loads = counters["l1.hits"] + counters["l1.misses"] + counters["l1.merges"]
        row.append(percent(counters["l1.hits"], loads))
    return tuple(row)


def _fig15_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    priced = table("common")

    def spent(task: RunSpec) -> float:
        return energy(
            results[task], priced, with_overrides(preset(_PRESET), list(task.overrides))
        ).dynamic_total

    base = spent(_base(kernel, size))
    after = {name: spent(_run(name, kernel, size)) for name in _COMPARED}
    changes = [percent(after[name], base) - 100 for name in _COMPARED]
    return (*changes, percent(after["BOW"], after["Malekeh"]) - 100)


def _fig16_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    row: list[float] = []
    for name in _KEEPERS:
        result = results[_run(name, kernel, size)]
        kept = result["observed"]
        row += [
            percent(kept["written"], result["counters"]["rf.writes"]),
            percent(kept["reused"], kept["written"]),
        ]
    return tuple(row)


def _room(name: str) -> float:
    """KiB of an SM's collectors for values."""
    scheme, overrides = _SCHEMES.get(name, ("baseline", ()))
    machine = parse_scheme(scheme).machine(with_overrides(preset(_PRESET), list(overrides)))
    shape = machine.sub_core.collector
    entries = {"baseline": shape.slots, "bow": shape.window_entries}.get(scheme, shape.cache_lines)
    return machine.sub_cores * machine.sub_core.collectors * entries * machine.value_width / 8192


def _storage_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return (*(_room(name) for name in _STORED), _room("Malekeh") - _room("baseline"))


def _shares_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    file = preset(_PRESET).register_file_bytes / 1024
    added = _room("Malekeh") - _room("baseline")
    return (
        percent(added, file),
        percent(_room("Malekeh"), _room("BOW")),
        percent(_room("Malekeh_PR"), _room("BOW")),
    )


MALEKEH = Paper(
    "malekeh",
    "Malekeh: A Lightweight, Compiler-Assisted Register File Cache for GPGPU",
    (
        *(
            Figure(
                f"fig1{suffix}",
                f"Fig. 1: reuses of registers by distance, in uops of the warp{which}",
                "%",
                ("1", "2", "3", "4 to 10", "over 10", "over 3"),
                lambda kernel, size: [_reuse(kernel, size)],
                _fig1_row,
                f"A trace without a machine, every executed uop counted, branches too; {reason}.",
                kernels=kernels,
                shape="parts",
                beside=("over 3",),
            )
            for suffix, which, kernels, reason in (
                ("", "", (), _MIX),
                (
                    "-tensor",
                    ", matrix units",
                    ("mma_gemm",),
                    "one kernel of ours stands beside the paper's suite, and its matrix operations are "
                    "cracked into smaller uops",
                ),
                (
                    "-deep",
                    ", kernels of deep learning",
                    ("conv2d", "gemm_nn", "gemm_nt", "lstm", "mma_gemm"),
                    "beside Fig. 1's DeepBench: convolution, matrix product and recurrent network, of which "
                    "ours without matrix units are four",
                ),
            )
        ),
        Figure(
            "fig2",
            "Fig. 2: change in IPC from one-level to two-level scheduling, 8 active warps of 32",
            "%",
            (
                *(f"{name}, {machine}" for name, _, _ in _TWO_LEVEL for machine in _ACTIVE),
                *(f"round robin, {machine}" for machine in _ACTIVE),
            ),
            _fig2_tasks,
            _fig2_row,
            "The first columns have the baseline's register file. Two-level scheduling goes round robin "
            "among its active warps, as the last columns do among all; one-level is GTO. Our warps leave "
            f"the active set when they wait for memory; and {_MIX}. {_CACHES}",
            mean="change",
        ),
        Figure(
            "hints",
            "Section III-A: accesses whose reuse is as near or far as the hint of their operand says",
            "%",
            ("first warps", "all warps"),
            lambda kernel, size: [_reuse(kernel, size)],
            _hints_row,
            "The paper states that a profile of a few warps is very close to one of all, without a number.",
        ),
        Figure(
            "fig7-ipc",
            "Fig. 7: change in IPC with a fixed STHLD, against none",
            "%",
            tuple(f"STHLD {waiting}" for waiting in _STHLDS[1:]),
            _fig7_tasks,
            _fig7_ipc_row,
            f"The paper shows three applications and no mean; {_MIX}.",
            mean="change",
            shape="lines",
        ),
        Figure(
            "fig7-hits",
            "Fig. 7: hit ratio with a fixed STHLD",
            "%",
            tuple(f"STHLD {waiting}" for waiting in _STHLDS),
            _fig7_tasks,
            _fig7_hits_row,
            f"The paper shows three applications and no mean; {_MIX}.",
            shape="lines",
        ),
        Figure(
            "sthld-intervals",
            "Section IV-B3: intervals of the adaptive waiting time that a run lasts",
            "intervals",
            ("of 10 000 cycles, the paper's", f"of {_FINE} cycles, ours"),
            lambda kernel, size: [_run(name, kernel, size) for name in ("Malekeh", f"interval {_FINE}")],
            _intervals_row,
            "The paper's applications run long enough for its interval; ours, one machine's share of one, "
            "do not.",
            digits=0,
        ),
        Figure(
            "sthld-walk",
            f"Fig. 8: waiting time over a run, intervals of {_FINE} cycles",
            "cycles",
            (*sthld.PARTS, "greatest"),
            lambda kernel, size: [_run(f"interval {_FINE}", kernel, size)],
            _walk_row,
            f"The paper draws the machine's states and prints no walk. An interval of {_FINE} cycles is "
            "ours, so that every kernel lasts many.",
            shape="lines",
            beside=("greatest",),
        ),
        *sthld.LONG,
        Figure(
            "fig10",
            "Fig. 10: scheduler cycles under two-level scheduling, 2 active warps of 8",
            "%",
            tuple(
                f"{name}, {state}"
                for name, _, _ in _TWO_LEVEL
                for state in ("issued", "ready but pending", "none ready")
            ),
            _fig10_tasks,
            _fig10_row,
            "Cycles without a warp count as none ready, and a pending warp is ready if its next uop has "
            f"no hazard. Our machine activates the oldest pending warp that does not wait for memory, one "
            f"a cycle; and {_MIX}. {_CACHES}",
        ),
        Figure(
            "fig12",
            "Fig. 12: change in IPC over the baseline",
            "%",
            _COMPARED,
            _runs(*_COMPARED),
            _fig12_row,
            f"{_SHORT_RUNS}; and {_MIX}.",
            mean="change",
        ),
        Figure(
            "fig12-pairs",
            "Fig. 12: change in IPC from one scheme to another",
            "%",
            tuple(pair[0] for pair in _PAIRS),
            _runs(*_COMPARED),
            _fig12_pairs_row,
            f"As for Fig. 12: {_MIX}.",
            mean="change",
        ),
        Figure(
            "fig13",
            "Fig. 13: hit ratio, source operands found in the collector",
            "%",
            _COMPARED,
            _runs(*_COMPARED),
            _hits_row(*_COMPARED),
            "A hint of ours speaks for all accesses of an operand, the paper's evaluation had the distance "
            f"of each; {_MIX}.",
        ),
        Figure(
            "fig13-sthld",
            "Fig. 13: hit ratio of Malekeh with adaptive waiting, and without waiting",
            "%",
            _WAITING,
            lambda kernel, size: [_run(name, kernel, size) for name in _WAITING],
            _hits_row(*_WAITING),
            f"{_SHORT_RUNS}; the paper prints the adaptive one alone.",
        ),
        Figure(
            "fig13-pairs",
            "Fig. 13: hit ratio of one scheme less that of another",
            "points",
            tuple(pair[0] for pair in _PAIRS),
            _runs(*_COMPARED),
            _fig13_pairs_row,
            f"As for Fig. 13: {_MIX}.",
        ),
        Figure(
            "reads",
            "Section VI-B2: bank reads that the scheme saves, of the baseline's",
            "%",
            _COMPARED,
            _runs(*_COMPARED),
            _removed_row,
            "A read is saved by a hit and by nothing else, so that ours are the numbers of Fig. 13; the "
            f"paper prints one number for both, too. {_MIX[0].upper()}{_MIX[1:]}.",
        ),
        Figure(
            "fig14",
            "Fig. 14: loads that hit in the L1",
            "%",
            ("baseline", *_KEEPERS),
            _runs(*_KEEPERS),
            _fig14_row,
            "The paper gives no mean.",
        ),
        Figure(
            "fig15",
            "Fig. 15: change in dynamic energy of the register file",
            "%",
            (*_COMPARED, "BOW over Malekeh"),
            _runs(*_COMPARED),
            _fig15_row,
            "Priced with our table `common`, whose network costs the same for a value however many "
            f"collectors it spans; the paper charges BOW for a larger crossbar and prints no energy of an "
            f"access. And {_MIX}.",
        ),
        Figure(
            "fig16",
            "Fig. 16: results written into collectors, of all results, and those of them that are found "
            "there",
            "%",
            tuple(f"{name}{what}" for name in _KEEPERS for what in ("", ", reused")),
            _runs(*_KEEPERS),
            _fig16_row,
            "The paper gives no mean.",
        ),
        Figure(
            "fig17",
            "Fig. 17: hit ratio of the same storage under GTO and LRU",
            "%",
            ("GTO and LRU", "own unit kept", "Malekeh"),
            _runs("GTO and LRU", "own unit kept", "Malekeh"),
            _hits_row("GTO and LRU", "own unit kept", "Malekeh"),
            "Every uop gets any free unit at random, as in the paper's baseline; a warp has values in its "
            "last unit only. `own unit kept`: a warp that owns a unit is collected there, which is "
            f"Malekeh's policy. How the paper's comparator gives out units is not said. And {_MIX}.",
        ),
        Figure(
            "storage",
            "Sections VI-B and VI-D: room for values in the collectors of an SM",
            "KiB",
            (*_STORED, _ADDED),
            lambda kernel, size: [],
            _storage_row,
            _COUNTED,
            kernels=("one SM",),
        ),
        Figure(
            "storage-shares",
            "Sections VI-B and VI-D: what Malekeh adds to the register file, and room against BOW's",
            "%",
            ("added to the file", "Malekeh of BOW", "Malekeh_PR of BOW"),
            lambda kernel, size: [],
            _shares_row,
            _COUNTED,
            kernels=("one SM",),
        ),
    ),
)
