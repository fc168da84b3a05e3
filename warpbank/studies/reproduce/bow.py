"""BOW (MICRO 2020): figures about the bypassing operand collector, on its Pascal machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpbank.arch.config import preset, with_overrides
from warpbank.sim.runs import RunSpec, Task
from warpbank.sim.runs.spec import AnalysisSpec
from warpbank.studies.reproduce import counted
from warpbank.studies.reproduce.measures import gain, percent
from warpbank.studies.reproduce.paper import Figure, Paper, Results
from warpbank.studies.reproduce.snippet import WRITTEN, SnippetSpec
from warpbank.synth.energy import energy, table

_PRESET = "pascal"
_OBSERVER = "warpbank.studies.reproduce.observe:Stages"
#: Windows of Fig. 10 and 12, in uops; the paper's choice is the one of the other figures.
_WINDOWS = (2, 3, 4)
_CHOICE = 3
#: Section V-A: registers of each warp in the register file cache. The paper has 6; ours has to be a power of
#: two.
_CACHED = 8
#: Our kernels that stand in the paper's Table III, too. It also has STO, WP, MUM, CifarNet and SqueezeNet.
KERNELS = ("libor", "laplace3d", "backprop", "bfs", "btree", "gaussian", "nw", "srad", "vectoradd", "sad")
#: Windows of Fig. 3.
_ALL_WINDOWS = range(2, 8)
#: Schemes that save energy, and prices of their network, over 2.075 pJ a value.
_PRICED, _PRICES = ("bow", "bow-wb", "bow-wr"), (0, 1, 2, 4, 8, 16, 32)
_MIX = (
    "our kernels, compiled from our own PTX and scheduled by our list scheduler, are another mix than the "
    "paper's benchmarks"
)


def _run(
    kernel: str, size: str, scheme: str = "baseline", window: int = _CHOICE, entries: str = "full"
) -> RunSpec:
    if scheme == "baseline":
        return RunSpec(kernel, size, scheme, _PRESET, observer=_OBSERVER)  # Fig. 4, 12
    overrides = (f"sub_core.collector.window={window}", f"sub_core.collector.boc_entries={entries}")
    observed = scheme == "bow" or (scheme, window, entries) == ("bow-wr", _CHOICE, "full")  # Fig. 12; Fig. 9
    return RunSpec(kernel, size, scheme, _PRESET, overrides, observer=_OBSERVER if observed else "")


def _collect(result: dict[str, Any], kinds: tuple[str, ...]) -> tuple[int, int]:
    """Cycles from issue to dispatch and to retirement, summed over uops of these kinds."""
    stages = [result["observed"][kind] for kind in kinds]
    return sum(stage["collect"] for stage in stages), sum(stage["total"] for stage in stages)


def _fig4_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    result = results[_run(kernel, size)]
    return tuple(
        percent(*_collect(result, kinds)) for kinds in (("memory",), ("other",), ("memory", "other"))
    )


def _windows(kernel: str, size: str) -> AnalysisSpec:
    arguments = (("first", _ALL_WINDOWS[0]), ("last", _ALL_WINDOWS[-1]))
    return AnalysisSpec(kernel, size, "warpbank.studies.reproduce.analyses:windows", arguments, _PRESET)


def _saved_row(kind: str, saved: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Rows of Fig. 3: which accesses, and which of them are saved."""

    def row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
        found = results[_windows(kernel, size)]
        return tuple(percent(found[str(window)][saved], found[str(window)][kind]) for window in _ALL_WINDOWS)

    return row


def _destinations(kernel: str, size: str) -> AnalysisSpec:
    return AnalysisSpec(
        kernel, size, "warpbank.studies.reproduce.analyses:destinations", (("window", _CHOICE),), _PRESET
    )


def _fig7_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    counts = results[_destinations(kernel, size)]
    to = [counts["banks"], counts["collector"], counts["both"]]
    return (*(percent(count, sum(to)) for count in to), percent(counts["unkept"], counts["registers"]))


def _sources(kernel: str, size: str) -> AnalysisSpec:
    return AnalysisSpec(kernel, size, "warpbank.studies.reproduce.analyses:count_sources", preset=_PRESET)


def _fig8_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    counts = dict(results[_sources(kernel, size)])
    once = counts.pop("address_once")
    total = sum(counts.values())
    few = [counts[str(number)] for number in range(4)]
    return tuple(percent(count, total) for count in (*few, total - sum(few), once))


def _fig9_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    run = _run(kernel, size, "bow-wr")
    machine = with_overrides(preset(_PRESET), list(run.overrides))
    entries = machine.sub_core.collector.window_entries
    cycles = {
        int(held): count for held, count in results[run]["observed"]["occupancy"].items() if held != "0"
    }
    total = sum(cycles.values())
    over = sum(count for held, count in cycles.items() if 2 * held > entries)
    return percent(over, total), percent(sum(held * count for held, count in cycles.items()), total * entries)


def _fig10_runs(kernel: str, size: str) -> list[RunSpec]:
    return [_run(kernel, size, scheme, window) for scheme in ("bow", "bow-wr") for window in _WINDOWS]


def _fig10_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return tuple(gain(results[run], results[_run(kernel, size)]) for run in _fig10_runs(kernel, size))


def _fig11_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    base = _run(kernel, size)
    full, half = (results[_run(kernel, size, "bow-wr", entries=entries)] for entries in ("full", "half"))
    return gain(half, results[base]), gain(full, results[base]), gain(half, full)


#: Every warp is active and keeps its row while it waits, so that every one has its registers in the cache.
_ALL_ACTIVE = (f"sub_core.active_warps={preset(_PRESET).sub_core.warps}", "sub_core.replacement=on_demand")


def _rfc_runs(kernel: str, size: str) -> list[RunSpec]:
    """With the cache, without it under the same scheduler, and the baseline."""
    cached = (f"sub_core.cache.registers={_CACHED}", *_ALL_ACTIVE)
    plain = ("sub_core.front_end.scheduler=two_level", *_ALL_ACTIVE)
    return [
        RunSpec(kernel, size, "rfc", _PRESET, cached),
        RunSpec(kernel, size, "baseline", _PRESET, plain),
        _run(kernel, size),
    ]


def _rfc_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    cached, *without = (results[run] for run in _rfc_runs(kernel, size))
    return tuple(gain(cached, base) for base in without)


def _fig12_runs(kernel: str, size: str) -> list[RunSpec]:
    return [_run(kernel, size, "bow", window) for window in _WINDOWS]


def _fig12_row(stage: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Rows of Fig. 12: cycles that the observer sums up under this name."""

    def row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
        base, *after = (
            sum(results[run]["observed"][kind][stage] for kind in ("memory", "other"))
            for run in (_run(kernel, size), *_fig12_runs(kernel, size))
        )
        return tuple(percent(cycles, base) - 100 for cycles in after)

    return row


def _fig13_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    priced = table("bow")
    before = energy(results[_run(kernel, size)], priced, preset(_PRESET)).dynamic["banks"]
    row: list[float] = []
    for scheme in ("bow", "bow-wr"):
        run = _run(kernel, size, scheme)
        spent = energy(results[run], priced, with_overrides(preset(_PRESET), list(run.overrides)))
        row += [
            percent(spent.dynamic_total, before) - 100,
            percent(spent.dynamic_total - spent.dynamic["banks"], before),
        ]
    return tuple(row)


def _price_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    """Savings with a network of each price."""
    machine, row = preset(_PRESET), []
    before = energy(results[_baseline(kernel, size)], table("bow"), machine).dynamic_total
    for scheme in _PRICED:
        run = _run(kernel, size, scheme)
        spent = energy(results[run], table("bow"), with_overrides(machine, list(run.overrides))).dynamic
        row += [
            percent(sum(spent.values()) + (factor - 1) * spent["network"], before) - 100 for factor in _PRICES
        ]
    return tuple(row)


def _table1(scheme: str, name: str, reason: str, without: int = 0) -> Figure:
    """Table I for a scheme, without one line of the snippet (0: with all)."""
    snippet = SnippetSpec(scheme, _PRESET, (f"sub_core.collector.window={_CHOICE}",), without)

    def row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
        writes = results[snippet]["writes"]
        return (*writes, sum(writes[:4]))

    title = f"Table I: bank writes for the snippet of Fig. 6, {name}"
    return Figure(
        f"table1-{scheme}{'-no-mov' * bool(without)}",
        f"Beside {title}, without its line {without}" if without else title,
        "writes",
        (*(f"r{register}" for register in range(WRITTEN)), "r0 to r3"),
        lambda kernel, size: [snippet],
        row,
        reason,
        kernels=("btree_snippet",),
    )


#: Line of the snippet whose `mov` makes the first of three values of r2. Table I counts two.
_MOV = 3
#: Table I: scheme, its name in the paper, and why the counts are what they are.
_TABLE1 = (
    (
        "bow",
        "BOW, write-through",
        "The printed code writes r2 in lines 3, 11 and 12, three times; the paper's table says twice.",
    ),
    (
        "bow-wb",
        "BOW, write-back",
        "The printed code writes r2 in lines 3, 11 and 12; the first value leaves the window, the "
        "second is overwritten in it, which makes two bank writes; the paper's table says one.",
    ),
    (
        "bow-wr",
        "BOW-WR",
        "r4 is not read in the snippet, so that its hint asks for no bank write; its result comes when "
        "its entry has left the window already, and such a result goes to the banks.",
    ),
)


def _baseline(kernel: str, size: str) -> Task:
    return _run(kernel, size)


BOW = Paper(
    "bow",
    "BOW: Breathing Operand Windows to Exploit Bypassing in GPUs (MICRO 2020)",
    (
        *(_table1(scheme, name, f"{detail} The table leaves out r4.") for scheme, name, detail in _TABLE1),
        *(
            _table1(
                scheme,
                name,
                "Of the three values of r2, that of the mov in line 3 is left out; those of lines 11 and 12 "
                "stay.",
                _MOV,
            )
            for scheme, name, _ in _TABLE1
        ),
        *(
            Figure(
                f"fig3-{name}",
                f"Fig. 3: share of the {kind} of warp registers that a window makes unnecessary{how}",
                "%",
                tuple(f"IW {window}" for window in _ALL_WINDOWS),
                lambda kernel, size: [_windows(kernel, size)],
                _saved_row(kind, saved),
                f"A trace without a machine, {detail}; and {_MIX}.",
            )
            for name, kind, how, saved, detail in (
                ("reads", "reads", "", "reads_saved", "with a register that a uop names twice read once"),
                (
                    "writes",
                    "writes",
                    "",
                    "writes_saved",
                    "where a write is saved only if a full one to the same register follows while the value "
                    "is in the window",
                ),
                (
                    "writes-hints",
                    "writes",
                    ", with hints",
                    "writes_saved_hints",
                    "where a write is saved, too, if all reads of it are surely made in the window",
                ),
            )
        ),
        Figure(
            "fig4",
            "Fig. 4: share of a uop's time, from issue to its last write, that it spends in operand "
            "collection",
            "%",
            ("memory", "other", "all"),
            lambda kernel, size: [_baseline(kernel, size)],
            _fig4_row,
            "Time includes our memory's latency and one issue a cycle in each of four sub-cores, and "
            f"{_MIX}.",
        ),
        Figure(
            "fig7",
            "Fig. 7: executed uops with a result by where the compiler sends it, window 3",
            "%",
            ("banks only", "collector only", "both", "unkept registers"),
            lambda kernel, size: [_destinations(kernel, size)],
            _fig7_row,
            "Our pass is safe for whole warps and all paths: a register that lanes waiting elsewhere may "
            f"read goes to the banks; and {_MIX}. Unkept: registers of the code that only collector-only "
            f"results are written to, which need no place in the banks; our allocator uses one register "
            "for many values, so that they are few.",
            shape="parts",
            beside=("unkept registers",),
        ),
        Figure(
            "fig8",
            "Fig. 8: executed uops by the number of distinct source registers",
            "%",
            ("0 sources", "1 source", "2 sources", "3 sources", "more", "3 and more, address once"),
            lambda kernel, size: [_sources(kernel, size)],
            _fig8_row,
            f"{_MIX[0].upper()}{_MIX[1:]}: the paper's own kernels stand by themselves. A 64-bit address is "
            "two registers; the last column counts it as one.",
            shape="parts",
            beside=("3 and more, address once",),
        ),
        Figure(
            "fig9",
            "Fig. 9: share of the cycles of collectors that hold a value in which more than half of the "
            "entries do",
            "%",
            ("more than half", "mean occupancy"),
            lambda kernel, size: [_run(kernel, size, "bow-wr")],
            _fig9_row,
            "We leave out cycles in which a collector is empty, or holds what is left of a warp that has "
            f"ended; the paper may count the former. What is left is the programs: {_MIX}.",
        ),
        Figure(
            "fig10",
            "Fig. 10: change in IPC over the baseline",
            "%",
            tuple(f"{name} IW {window}" for name in ("BOW", "BOW-WR") for window in _WINDOWS),
            lambda kernel, size: [_baseline(kernel, size), *_fig10_runs(kernel, size)],
            _fig10_row,
            "Our sub-cores issue one uop a cycle from eight warps to eight banks, which leaves fewer "
            f"conflicts to remove; and {_MIX}.",
            mean="change",
        ),
        Figure(
            "fig11",
            "Fig. 11: change in IPC with half of the entries",
            "%",
            ("BOW-WR half", "BOW-WR full", "half over full"),
            lambda kernel, size: [
                _baseline(kernel, size),
                *(_run(kernel, size, "bow-wr", entries=n) for n in ("full", "half")),
            ],
            _fig11_row,
            f"As for Fig. 10: {_MIX}.",
            mean="change",
        ),
        *(
            Figure(
                f"fig12-{name}",
                f"Fig. 12: change in the cycles that uops spend {where}, BOW",
                "%",
                tuple(f"IW {window}" for window in _WINDOWS),
                lambda kernel, size: [_baseline(kernel, size), *_fig12_runs(kernel, size)],
                _fig12_row(stage),
                f"{detail}; and {_MIX}.",
            )
            for name, where, stage, detail in (
                (
                    "residency",
                    "in collectors, from issue to dispatch",
                    "collect",
                    "A BOC takes up to IW uops of a warp, which then wait side by side for operands and "
                    "units; the baseline's collector takes one, and the next waits at the scheduler, "
                    "where it is not counted",
                ),
                (
                    "operands",
                    "until their last operand is there",
                    "operands",
                    "Our windows save fewer reads than the paper's (fig3-reads); the wait for an "
                    "execution unit, which Fig. 12 may count, is left out",
                ),
            )
        ),
        Figure(
            "fig13",
            "Fig. 13: change in dynamic energy of the register file, overhead included, with the paper's "
            "Table IV",
            "%",
            ("BOW", "BOW overhead", "BOW-WR", "BOW-WR overhead"),
            lambda kernel, size: [
                _baseline(kernel, size),
                _run(kernel, size, "bow"),
                _run(kernel, size, "bow-wr"),
            ],
            _fig13_row,
            "It follows the accesses that each scheme removes (docs/energy.md tells how the network is "
            f"charged); {_MIX}.",
        ),
        Figure(
            "network-price",
            "Beside Fig. 13: change in dynamic energy of the register file if a value on the network costs "
            "more than 2.075 pJ",
            "%",
            tuple(f"{scheme.upper()}, {factor}x" for scheme in _PRICED for factor in _PRICES),
            lambda kernel, size: [
                _baseline(kernel, size),
                *(_run(kernel, size, scheme) for scheme in _PRICED),
            ],
            _price_row,
            "32x is the other reading of the paper's 33.2 mW: one write in every other cycle for the whole "
            "SM.",
            shape="curves",
        ),
        Figure(
            "rfc",
            f"Section V-A: change in IPC with a register file cache of {_CACHED} registers for each warp",
            "%",
            ("RFC", "over GTO"),
            lambda kernel, size: list(_rfc_runs(kernel, size)),
            _rfc_row,
            "The paper's has 6 entries per thread. Scheme rfc has a two-level scheduler, round robin within "
            "the active warps, and RFC is over a baseline that has it, too; over GTO the schedulers' "
            f"difference is in it. And {_MIX}.",
            mean="change",
        ),
        *counted.BOW,
    ),
    KERNELS,
)
