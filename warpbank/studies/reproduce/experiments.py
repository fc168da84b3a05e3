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
    """

    name: str
    source: str
    figures: tuple[str, ...] = ("*",)
    code_order: CodeOrder | None = None
    constants: ConstantPlace | None = None
    kernels: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    preset: str = ""

    def concerns(self, figure: str) -> bool:
        """Whether the experiment may change a figure."""
        return any(fnmatch(figure, pattern) for pattern in self.figures)

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

#: Experiments by paper, in the order in which they are tried.
EXPERIMENTS: dict[str, tuple[Experiment, ...]] = {
    "bow": (
        Experiment(
            "code in source order",
            "section III: PTXPlus, which GPGPU-Sim runs in the order of its text",
            ("fig3-*", "fig4", "fig7", "fig8", "fig9", "fig1[0123]*", "rfc"),
            code_order=CodeOrder.SOURCE,
        ),
        Experiment(
            "the paper's kernels that we have",
            "Table III",
            ("fig3-*", "fig4", "fig7", "fig8", "fig9", "fig1[0123]*", "rfc"),
            kernels=BOW_KERNELS,
        ),
        Experiment(
            "the paper's kernels that we have, in source order",
            "section III and Table III",
            ("fig3-*", "fig4", "fig7", "fig8", "fig9", "fig1[0123]*", "rfc"),
            code_order=CodeOrder.SOURCE,
            kernels=BOW_KERNELS,
        ),
    ),
    "malekeh": (
        Experiment("Rodinia's kernels that we have", "Table II", ("fig1",), kernels=_RODINIA),
        Experiment(
            "the paper's kernels that we have",
            "Table II: Rodinia, and convolution, matrix product and recurrent network",
            ("fig2", "fig1[0-7]*", "reads"),
            kernels=(*_RODINIA, "conv2d", "gemm_nn", "gemm_nt", "lstm"),
        ),
    ),
    "ltrf": (
        Experiment(
            "baseline under two-level scheduling",
            "Table 3",
            ("fig9", "fig11*"),
            overrides=(f"{_SCHEDULER}=two_level",),
        ),
        Experiment(
            "kernels that registers limit",
            "section 5: nine of fourteen",
            ("fig9", "fig9-ideal", "fig13-gain"),
            kernels=("register-sensitive",),
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
            ("table4*", "code", "accesses", "fig4"),
            code_order=CodeOrder.SOURCE,
        ),
    ),
    "gscalar": (
        Experiment(
            "constants in registers",
            "Fig. 8: scalar registers, which PTX loads parameters into",
            ("fig1", "fig8", "fig9*", "fig10", "moves", "compression", "fig11*", "fig12"),
            constants=ConstantPlace.REGISTERS,
        ),
        Experiment(
            "the paper's kernels that we have",
            "Table 2",
            ("fig1", "fig8", "fig9*", "fig10", "moves", "compression", "fig11*", "fig12"),
            kernels=_GSCALAR,
        ),
        Experiment(
            "the paper's kernels that we have, constants in registers",
            "Table 2 and Fig. 8",
            ("fig1", "fig8", "fig9*", "fig10", "moves", "compression", "fig11*", "fig12"),
            constants=ConstantPlace.REGISTERS,
            kernels=_GSCALAR,
        ),
        Experiment("two schedulers", "Table 1", ("fig11-ipc",), preset="fermi-gscalar"),
    ),
    "renaming": (
        Experiment(
            "the paper's kernels that we have", "Table 3", ("fig9*", "fig1[0123]*"), kernels=_RENAMING
        ),
        Experiment(
            "code in source order",
            "section 8.1: PTXPlus, which GPGPU-Sim runs in the order of its text",
            ("fig9*", "fig1[0123]*"),
            code_order=CodeOrder.SOURCE,
        ),
    ),
}
