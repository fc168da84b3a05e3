"""Experiments that measure one named difference between our figures and a paper's: other code, kernels, or
machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatch

from warpbank.arch.schemes import parse_scheme
from warpbank.program.options import CodeOrder, CompileOptions, ConstantPlace
from warpbank.sim.runs import AnalysisSpec, RunSpec, Task
from warpbank.studies.reproduce.bow import KERNELS as BOW_KERNELS

#: Field that names the warp scheduler.
_SCHEDULER = "sub_core.front_end.scheduler"


@dataclass(frozen=True)
class Experiment:
    """Experiment: figures made once more with one thing as in the paper.

    Parameters
    ----------
    name : what differs, in a few words.
    source : where the paper has it so.
    figures : patterns of the names of figures that it may change.
    code_order, constants : of the compiler; None: as asked for.
    kernels : that run in the place of the group `core`; empty: as asked for.
    overrides : fields of every machine, as after `--set`.
    preset : machine in the place of the figures' own; "": theirs.
    size : of every kernel; "": as asked for.
    instead : figures that are made in the place of others, as (figure, the one in its place): they count the
        same columns in another way, and have no published numbers of their own.
    """

    name: str
    source: str
    figures: tuple[str, ...] = ("*",)
    code_order: CodeOrder | None = None
    constants: ConstantPlace | None = None
    kernels: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    preset: str = ""
    size: str = ""
    instead: tuple[tuple[str, str], ...] = ()

    def concerns(self, figure: str) -> bool:
        """Whether the experiment may change a figure."""
        patterns = tuple(name for name, _ in self.instead) or self.figures
        return any(fnmatch(figure, pattern) for pattern in patterns)

    def made(self, figure: str) -> str:
        """Name of the figure that is made where this one is asked for."""
        return dict(self.instead).get(figure, figure)

    def compiled(self, options: CompileOptions) -> CompileOptions:
        """Compile options of the experiment, where those asked for are `options`."""
        return replace(
            options,
            code_order=self.code_order or options.code_order,
            constants=self.constants or options.constants,
        )


def changed(task: Task, options: CompileOptions | None, overrides: tuple[str, ...], preset: str) -> Task:
    """Task with other compile options (None: its own), further overrides, and another machine ("": its own).
    What neither compiles nor runs a kernel stays as it is."""
    if not isinstance(task, RunSpec | AnalysisSpec):
        return task
    if options is not None:
        task = replace(task, compile=options)
    if preset:
        task = replace(task, preset=preset)
    if isinstance(task, RunSpec):
        more = tuple(text for text in overrides if not _named_already(task, text))
        task = replace(task, overrides=(*task.overrides, *more))
    return task


def _named_already(task: RunSpec, override: str) -> bool:
    """Whether an override names the scheduler that the task's scheme brings."""
    field, _, value = override.partition("=")
    if field != _SCHEDULER or any(text.startswith(_SCHEDULER) for text in task.overrides):
        return False
    return parse_scheme(task.scheme).scheduler == value


#: Kernels of each paper that we have; BOW's stand with its figures.
_GSCALAR = (
    "btree",
    "backprop",
    "hotspot",
    "pathfinder",
    "srad",
    "lbm",
    "mri_q",
    "sad",
    "sgemm",
    "spmv",
    "stencil",
)
_RENAMING = (
    "matrixmul",
    "blackscholes",
    "dct8x8",
    "nbody",
    "reduction",
    "vectoradd",
    "backprop",
    "bfs",
    "hotspot",
    "kmeans",
    "nn",
    "pathfinder",
    "lud",
    "gaussian",
    "libor",
    "laplace3d",
)
_RODINIA = ("btree", "backprop", "bfs", "gaussian", "hotspot", "kmeans", "lud", "nn", "pathfinder", "srad")

_MALEKEH = (*_RODINIA, "conv2d", "gemm_nn", "gemm_nt", "lstm")
#: Kernels that registers limit.
_SENSITIVE = ("register-sensitive",)

#: Figures that code order, constants and kernels may change, by paper.
_OF_BOW = ("fig3-*", "fig4", "fig7", "fig8", "fig9", "fig1[0123]*", "rfc")
_OF_GSCALAR = ("fig1", "fig8", "fig9*", "fig10", "moves", "compression", "fig11*", "fig12")
_OF_MALEKEH = ("fig2", "fig1[0-7]*", "reads")
#: Figures of BOW that a baseline with other collectors may change, and that baseline.
_COLLECTED = ("fig4", "fig1[0123]*", "rfc")
_PER_WARP = ("sub_core.collector.allocation=per_warp",)
#: Figures of Malekeh that name neither scheduler nor collectors, and those of the paper beside Accel-Sim's
#: numbers.
_ON_ACCELSIM = ("fig1[2-7]*", "reads")
_ACCELSIM = ("sub_core.collectors=2", f"{_SCHEDULER}=scheme")

#: Experiments by paper, in the order in which they are tried.
EXPERIMENTS: dict[str, tuple[Experiment, ...]] = {
    "bow": (
        Experiment(
            "the snippet without its line 3",
            "Table I: two writes of r2, one after write-back, which lines 11 and 12 make",
            instead=tuple((f"table1-{scheme}", f"table1-{scheme}-no-mov") for scheme in ("bow", "bow-wb")),
        ),
        Experiment(
            "a bank of 64 KB",
            "Table IV",
            instead=tuple((f"table4-{part}", f"table4-{part}-64k") for part in ("access", "leakage")),
        ),
        Experiment(
            "code in source order",
            "section III: PTXPlus, which GPGPU-Sim runs in the order of its text",
            _OF_BOW,
            code_order=CodeOrder.SOURCE,
        ),
        Experiment("the paper's kernels that we have", "Table III", _OF_BOW, kernels=BOW_KERNELS),
        Experiment(
            "the paper's kernels that we have, in source order",
            "section III and Table III",
            _OF_BOW,
            code_order=CodeOrder.SOURCE,
            kernels=BOW_KERNELS,
        ),
        Experiment(
            "the paper's kernels that we have, in source order, a collector for each warp in the baseline",
            "section I: 32 collectors, as many as warps may be in flight; section III and Table III",
            _COLLECTED,
            code_order=CodeOrder.SOURCE,
            kernels=BOW_KERNELS,
            overrides=_PER_WARP,
        ),
    ),
    "malekeh": (
        Experiment("Rodinia's kernels that we have", "Table II", ("fig1",), kernels=_RODINIA),
        Experiment(
            "code in source order",
            "Fig. 1: native code, whose compiler's order is not ours",
            ("fig1-tensor",),
            code_order=CodeOrder.SOURCE,
        ),
        Experiment(
            "convolution, matrix product and recurrent network, too",
            "Table II: DeepBench",
            instead=(("fig1-tensor", "fig1-deep"),),
        ),
        Experiment(
            "the paper's kernels that we have",
            "Table II: Rodinia, and convolution, matrix product and recurrent network",
            _OF_MALEKEH,
            kernels=_MALEKEH,
        ),
        Experiment(
            "units and memory with Accel-Sim's numbers",
            "section V: Accel-Sim, RTX 2060",
            _ON_ACCELSIM,
            overrides=_ACCELSIM,
            preset="turing-accelsim",
        ),
        Experiment(
            "the paper's kernels that we have, units and memory with Accel-Sim's numbers",
            "section V and Table II",
            _ON_ACCELSIM,
            kernels=_MALEKEH,
            overrides=_ACCELSIM,
            preset="turing-accelsim",
        ),
    ),
    "ltrf": (
        Experiment(
            "a control block for every warp",
            "section 4.3: 64 x (256 x 5 + 3 + 256 + 256) bits",
            instead=(("wcb", "wcb-every-warp"),),
        ),
        Experiment(
            "baseline under two-level scheduling",
            "Table 3",
            ("fig9", "fig11*"),
            overrides=(f"{_SCHEDULER}=two_level",),
        ),
        Experiment(
            "kernels that registers limit",
            "section 5: nine of fourteen",
            (
                "fig4",
                "fig9",
                "fig9-ideal",
                "fig10*",
                "fig13-gain",
                "accesses",
                "table4",
                "table4-share",
                "code",
            ),
            kernels=_SENSITIVE,
        ),
        Experiment(
            "a waiting warp keeps its row until another needs it",
            "section 3.2: a warp becomes inactive and is replaced",
            ("fig9*", "fig11*", "fig13-gain", "accesses"),
            overrides=("sub_core.replacement=on_demand",),
        ),
        Experiment(
            "code in source order",
            "section 5: PTX, which GPGPU-Sim runs in the order of its text",
            ("table4", "table4-share", "code", "accesses", "fig4"),
            code_order=CodeOrder.SOURCE,
        ),
        Experiment(
            "minimum and maximum of the kernels' averages",
            "Table 4: average, minimum and maximum for 35 workloads",
            instead=(("table4", "table4-kernels"),),
        ),
        Experiment(
            "kernels that registers limit, at full",
            "section 5: benchmarks that fill the machine",
            ("fig9", "fig9-ideal"),
            kernels=_SENSITIVE,
            size="full",
        ),
    ),
    "gscalar": (
        Experiment(
            "the guard band of a netlist that is not placed",
            "Table 3: Design Compiler, whose delays have wires in them",
            instead=(("table3-delay", "table3-delay-guard-band"),),
        ),
        Experiment(
            "the leading lane's value on a bus, and neighbours compared",
            "Table 3: with the broadcasting logic of Figure 7",
            instead=(("table3-area", "table3-area-broadcast"), ("bdi-area", "bdi-area-broadcast")),
        ),
        Experiment(
            "a value in every cycle",
            "Table 3: no activity is named",
            instead=(("table3-power", "table3-power-busy"),),
        ),
        Experiment(
            "constants in registers",
            "Fig. 8: scalar registers, which PTX loads parameters into",
            _OF_GSCALAR,
            constants=ConstantPlace.REGISTERS,
        ),
        Experiment("the paper's kernels that we have", "Table 2", _OF_GSCALAR, kernels=_GSCALAR),
        Experiment(
            "the paper's kernels that we have, constants in registers",
            "Table 2 and Fig. 8",
            _OF_GSCALAR,
            constants=ConstantPlace.REGISTERS,
            kernels=_GSCALAR,
        ),
        Experiment("two schedulers", "Table 1", ("fig11*", "fig12"), preset="fermi-gscalar"),
    ),
    "renaming": (
        Experiment("a memory alone", "Table 2: CACTI", instead=(("table2-lookup", "table2-lookup-memory"),)),
        Experiment(
            "memories at 0.96 V",
            "Table 2",
            instead=tuple((f"table2-{part}", f"table2-{part}-volts") for part in ("access", "leakage")),
        ),
        Experiment(
            "macros with as many rows as the bank",
            "Table 2: each bank is one memory",
            instead=tuple((f"table2-{part}", f"table2-{part}-tall") for part in ("access", "leakage")),
        ),
        Experiment(
            "the paper's kernels that we have", "Table 3", ("fig9*", "fig1[0123]*"), kernels=_RENAMING
        ),
        Experiment(
            "code in source order",
            "section 8.1: PTXPlus, which GPGPU-Sim runs in the order of its text",
            ("fig9*", "fig1[0123]*"),
            code_order=CodeOrder.SOURCE,
        ),
        Experiment(
            "spread of the means over the kernels",
            "section 8.6: different within 3 % across the schedulers",
            instead=(("fig13", "fig13-means"),),
        ),
        Experiment(
            "warps as many as the machine holds",
            "Table 3: CTAs of each SM, 32 to 48 warps",
            ("fig10",),
            size="full",
        ),
    ),
}
