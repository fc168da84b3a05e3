"""Register renaming (CENG-2014-05): figures about release flags and lifetimes from code and traces, the
others from runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from warpbank.arch.config import preset
from warpbank.sim.runs import RunSpec, Task
from warpbank.sim.runs.spec import AnalysisSpec
from warpbank.studies.gating import PARTS, WINDOW
from warpbank.studies.reproduce import counted
from warpbank.studies.reproduce.measures import percent
from warpbank.studies.reproduce.paper import Figure, Paper, Results

_PRESET = "fermi"
_MACHINE = preset(_PRESET).sub_core
#: The paper's register file: a warp register is in four banks of 256 rows, each of four sub-arrays.
_FILE = ("sub_core.banks=4", "sub_core.rows=256")
#: A table in which all registers of all warps have their places: 48 x 256 x 10 bits.
_WHOLE_TABLE = "sub_core.mapping.table_bytes=15360"
_SCHEDULERS = ("two_level", "gto", "lrr")
#: Table 2, pJ: an access to the renaming table, and to one of the eight banks that hold a warp register.
_TABLE_ENERGY, _BANK_ENERGY = 1.14, 4.68
#: Accesses to the renaming table, as in the energy tables: of sources, of results, when a register is given,
#: when it is released.
_TABLE_ACCESSES = ("renaming.lookups", "rf.writes", "renaming.maps", "renaming.unmaps")
#: Table 4: nm -> volts at which an SRAM cell keeps its value, and of the supply.
_RETENTION = {65: (0.7, 1.1), 45: (0.65, 1.0), 32: (0.6, 0.9), 22: (0.55, 0.8)}
#: The one next to the 40 nm of Table 2.
_NODE = 45
_MIX = "our kernels, compiled from our own PTX, are another mix than the paper's benchmarks"
_EVER = (
    "A register counts as soon as it was allocated once, so that a moment in which all warps need most "
    "decides"
)
#: Why fewer of the paper's kernels need an exemption.
_WARPS = (
    "Tables are for 48 warps and 1024 physical registers; the paper's are for the warps that run, mostly 32 "
    "to 48"
)


def _retained(node: int) -> float:
    """Static power saved in % by what is at the retention voltage: with the voltage, the leakage current as
    before."""
    kept, supply = _RETENTION[node]
    return 100 - percent(kept, supply)


def _release(kernel: str, size: str) -> AnalysisSpec:
    arguments = (("warps", _MACHINE.warps), ("physical", _MACHINE.banks * _MACHINE.rows))
    return AnalysisSpec(kernel, size, "warpbank.studies.reproduce.analyses:release", arguments, _PRESET)


def _tasks(kernel: str, size: str) -> list[Task]:
    return [_release(kernel, size)]


def _fig2_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_release(kernel, size)]
    return tuple(100 * share for share in (*found["live"], *found["held"]))


def _found_row(*names: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Rows of what the analysis finds under these names."""
    return lambda kernel, size, results: tuple(results[_release(kernel, size)][name] for name in names)


def _fig12_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_release(kernel, size)]
    few, every = found["flags"], found["all_flags"]
    return (
        *(100 * (flags["pir"] + flags["pbr"]) / flags["code"] for flags in (few, every)),
        *(100 * count / few["executed"] for count in (few["pbr_met"], few["pbr_met"] + few["pir_met"])),
    )


def _patterns(kernel: str, size: str) -> AnalysisSpec:
    return AnalysisSpec(kernel, size, "warpbank.studies.reproduce.analyses:patterns", (), _PRESET)


def _fig3_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_patterns(kernel, size)]
    return tuple(percent(found[name], sum(found.values())) for name in ("long", "once", "again"))


def _run(scheme: str, kernel: str, size: str, scheduler: str = "two_level", *more: str) -> RunSpec:
    overrides = (*_FILE, f"sub_core.front_end.scheduler={scheduler}", *more)
    return RunSpec(kernel, size, scheme, _PRESET, overrides, observer="warpbank.studies.gating:Gating")


def _renamed(kernel: str, size: str) -> list[Task]:
    return [_run("renaming", kernel, size)]


def _both(kernel: str, size: str) -> list[Task]:
    return [_run("renaming", kernel, size), _run("baseline", kernel, size)]


def _schedulers(kernel: str, size: str) -> list[Task]:
    return [_run("renaming", kernel, size, scheduler) for scheduler in _SCHEDULERS]


def _observed(kernel: str, size: str, results: Results) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was powered with and without renaming."""
    first, second = (results[task]["observed"] for task in _both(kernel, size))
    return first, second


def _tables(kernel: str, size: str) -> list[Task]:
    """With the table of 1 KB, and with one for all registers."""
    return [_run("renaming", kernel, size), _run("renaming", kernel, size, "two_level", _WHOLE_TABLE)]


def _with_base(tasks: Callable[[str, str], list[Task]]) -> Callable[[str, str], list[Task]]:
    """Also without renaming, which registers saved are of."""
    return lambda kernel, size: [*tasks(kernel, size), _run("baseline", kernel, size)]


def _savings(tasks: Sequence[Task], kernel: str, size: str, results: Results) -> list[float]:
    """Registers saved, in %, of those that the warps have which run without renaming: with it more may."""
    given = results[_run("baseline", kernel, size)]["observed"]["given"]
    return [100 - percent(results[task]["observed"]["allocated"], given) for task in tasks]


def _tables_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    few, every = _savings(_tables(kernel, size), kernel, size, results)
    return few, every, every - few


def _used_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return (100 * results[_run("renaming", kernel, size)]["observed"]["used"],)


def _parts_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return tuple(100 * share for share in results[_run("renaming", kernel, size)]["observed"]["parts"])


def _fig9_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    renamed, base = _observed(kernel, size, results)
    return base["given"], renamed["allocated"]


def _fig13_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    saved = _savings(_schedulers(kernel, size), kernel, size, results)
    return (*saved, max(saved) - min(saved))


def _means_row(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Registers saved by each scheduler, mean over the kernels, and the spread of these means."""
    saved = [fmean(column) for column in zip(*rows, strict=True)][:-1]
    return (*saved, max(saved) - min(saved))


def _saving_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    return tuple(_savings(_renamed(kernel, size), kernel, size, results))


def _fig10_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    renamed, base = _observed(kernel, size, results)
    return tuple(100 - percent(renamed[name], base[name]) for name in ("subarrays", "registers"))


def _table_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    counters = results[_run("renaming", kernel, size)]["counters"]
    table = _TABLE_ENERGY * sum(counters[name] for name in _TABLE_ACCESSES)
    return (percent(table, 8 * _BANK_ENERGY * (counters["rf.reads"] + counters["rf.writes"])),)


def _executed_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    renamed, base = (results[task] for task in _both(kernel, size))
    pbr = renamed["warp_instructions"] - base["warp_instructions"]
    return (percent(pbr + renamed["counters"]["renaming.flag_fetches"], base["warp_instructions"]),)


def _time_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    renamed, base = (results[task] for task in _both(kernel, size))
    return (percent(renamed["cycles"], base["cycles"]) - 100,)


RENAMING = Paper(
    "renaming",
    "GPGPU Register File Management by Hardware Co-operated Register Reallocation (CENG-2014-05)",
    (
        Figure(
            "fig2",
            "Fig. 2: registers in use, of those given to 48 warps that run in step",
            "%",
            ("live, mean", "live, most", "held, mean", "held, most"),
            _tasks,
            _fig2_row,
            "Live: read later; held: from the first write to the release. The paper's time is cycles of a "
            f"machine, ours instructions of each warp; {_MIX}.",
        ),
        Figure(
            "fig2-cycles",
            "Fig. 2: registers allocated, of those given to the warps that run, in the first 10 000 cycles",
            "%",
            ("mean",),
            _renamed,
            _used_row,
            "The paper shows curves of eight applications, most of them below a half, and counts what is "
            f"read again; allocated is also what waits for its write or its flag; {_MIX}.",
        ),
        Figure(
            "fig2-curves",
            f"Fig. 2: the same over time: means of the {WINDOW // PARTS} cycles that end there",
            "%",
            tuple(str(WINDOW // PARTS * (part + 1)) for part in range(PARTS)),
            _renamed,
            _parts_row,
            "The paper names vectorAdd, which has all its registers in use around cycle 2000. A kernel of "
            f"ours that has ended uses none; {_MIX}.",
            digits=0,
            shape="lines",
        ),
        Figure(
            "fig3a",
            "Fig. 3a: registers that hold a value for half of the warp's instructions or longer, and the "
            "others",
            "%",
            ("long", "short, once", "short, again"),
            lambda kernel, size: [_patterns(kernel, size)],
            _fig3_row,
            "The paper draws a register of each kind in matrixMul: r2, r12 and r0. `warpbank gating "
            "matrixmul` draws ours.",
            shape="parts",
        ),
        Figure(
            "fig9",
            "Fig. 9: registers given to warps without renaming, and physical registers ever allocated",
            "registers",
            ("architecture", "physical"),
            _both,
            _fig9_row,
            f"The paper prints no numbers; {_MIX}.",
            digits=0,
        ),
        Figure(
            "fig9-saving",
            "Fig. 9: registers saved",
            "%",
            ("saving",),
            _both,
            _saving_row,
            f"{_EVER}; {_MIX}.",
        ),
        Figure(
            "fig10",
            "Fig. 10a: static power saved, against power gating by first touch",
            "%",
            ("sub-array", "register"),
            _both,
            _fig10_row,
            "Power is that of what is switched on; a sub-array holds 64 warp registers, as the paper's. "
            f"The line is first touch with all that is on at the retention voltage of {_NODE} nm: power "
            f"falls at least as the voltage does, and how far the paper does not say; {_MIX}.",
            level=("first touch at retention voltage", _retained(_NODE)),
        ),
        counted.constant(
            "fig10-retention",
            "Fig. 10a, red line: static power saved at the retention voltage of Table 4, at least",
            "%",
            tuple(f"{node} nm" for node in _RETENTION),
            lambda: [_retained(node) for node in _RETENTION],
            "The paper prints the voltages and draws the line, without a number. Power is voltage times "
            "leakage current, which does not grow when the voltage falls; here it stays.",
            about="every cell",
        ),
        Figure(
            "fig10-table",
            "Fig. 10b: dynamic energy of the renaming table, of the register file's",
            "%",
            ("table",),
            _renamed,
            _table_row,
            "By the paper's Table 2 a look-up takes 3 % of the energy of an operand's eight bank "
            "accesses. How it comes to 0.02 % is not said.",
            digits=2,
        ),
        Figure(
            "fig11",
            "Fig. 11: size of the renaming table, with all registers and with as many as 1 KB takes",
            "bytes",
            ("all", "constrained"),
            _tasks,
            _found_row("table", "small_table"),
            f"{_WARPS}; {_MIX}.",
        ),
        Figure(
            "fig11-exempt",
            "Section 8.4: registers of the kernel, and those that are not renamed",
            "registers",
            ("registers", "exempt"),
            _tasks,
            _found_row("registers", "exempt"),
            f"{_WARPS}; {_MIX}.",
        ),
        Figure(
            "fig11-saving",
            "Fig. 11b: registers saved with a table of 1 KB and with one for all registers",
            "%",
            ("1 KB", "all", "lost"),
            _with_base(_tables),
            _tables_row,
            "The paper shows the three applications whose registers are too many for 1 KB, and less than "
            f"1 % lost. {_EVER}; {_MIX}.",
        ),
        Figure(
            "fig12",
            "Fig. 12: flag instructions, of the code's instructions and of those executed",
            "%",
            ("code", "code, empty pir kept", "pbr executed", "pbr and pir met"),
            _tasks,
            _fig12_row,
            "A pir that holds no flag is left out, unless the column says otherwise. A release flag cache "
            "spares most fetches of a pir; executed are at least the pbr and at most what warps meet. Our "
            f"blocks are short; {_MIX}.",
        ),
        Figure(
            "fig12-decoded",
            "Fig. 12: flag instructions that are fetched, of those executed",
            "%",
            ("decoded",),
            _both,
            _executed_row,
            f"The release flag cache spares the others. Our blocks are short; {_MIX}.",
            digits=2,
        ),
        Figure(
            "fig12-time",
            "Fig. 12: change in cycles",
            "%",
            ("time",),
            _both,
            _time_row,
            "A pbr takes an issue slot, and sources in one bank of the table wait for each other. With "
            f"renaming more warps may run than without; {_MIX}.",
            mean="change",
            digits=2,
        ),
        Figure(
            "fig13",
            "Fig. 13: registers saved by scheduler",
            "%",
            ("two-level", "gto", "lrr", "spread"),
            _with_base(_schedulers),
            _fig13_row,
            f"The paper shows them relative to each other, within 3 %, round robin the worst. {_EVER}; "
            f"{_MIX}.",
        ),
        Figure(
            "fig13-means",
            "Beside Fig. 13: registers saved by scheduler, mean over the kernels, and their spread",
            "%",
            ("two-level", "gto", "lrr", "spread"),
            _with_base(_schedulers),
            _fig13_row,
            "The paper does not say whether 3 % bounds each workload's spread or that of the means.",
            together=_means_row,
        ),
        *counted.RENAMING,
    ),
)
