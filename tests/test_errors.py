"""A mistake is one sentence, from the API as a typed exception, from the command line on the error stream."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import warpbank as wb
from tests.cli.command import warpbank
from warpbank import errors
from warpbank.golden.check import OperandMismatch
from warpbank.program.errors import PtxError
from warpbank.results import Ptx, SweepResult


@dataclass(frozen=True)
class Mistake:
    """One mistake, made twice.

    Parameters
    ----------
    name : of the test.
    error : class that the API raises.
    call : function of the API, with its arguments.
    words : the command that makes the mistake; none: a command cannot make it.
    said : part of the sentence.
    own_words : the command line's parser refuses it before we see it, in its own words.
    """

    name: str
    error: type[Exception]
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    words: tuple[str, ...]
    said: str
    keywords: dict[str, Any] = field(default_factory=dict)
    own_words: bool = False


E = errors
BOTH = (
    Mistake("kernel", E.KernelError, wb.run, ("hotspott",), ("run", "hotspott"), "hotspott"),
    Mistake(
        "kernel_of_comparison",
        E.KernelError,
        wb.compare,
        ("bow", "hotspott"),
        ("compare", "--schemes", "bow", "--kernels", "hotspott"),
        "Did you mean hotspot?",
    ),
    Mistake("kernel_of_lockstep", E.KernelError, wb.lockstep, ("x",), ("lockstep", "x"), "'x'"),
    Mistake("no_kernel", E.ArgumentError, wb.run, (), ("run",), "name a kernel"),
    Mistake("cuda_source", E.ArgumentError, wb.run, ("saxpy.cu",), ("run", "saxpy.cu"), "warpbank compile"),
    Mistake("ptx", E.LaunchError, wb.run, ("none.ptx",), ("run", "none.ptx"), "none.ptx"),
    Mistake(
        "launch_of_shipped",
        E.ArgumentError,
        wb.run,
        ("nn",),
        ("run", "nn", "--launch", "x.toml"),
        "shipped kernel",
        {"launch": "x.toml"},
    ),
    Mistake(
        "size",
        E.KernelError,
        wb.run,
        ("nn",),
        ("run", "nn", "--size", "big"),
        "tiny, small, full",
        {"size": "big"},
        own_words=True,
    ),
    Mistake("size_type", E.ArgumentError, wb.run, ("nn",), (), "size takes a text", {"size": 3}),
    Mistake(
        "scheme",
        E.SchemeError,
        wb.run,
        ("nn",),
        ("run", "nn", "--scheme", "bowl"),
        "Did you mean bow",
        {"scheme": "bowl"},
    ),
    Mistake(
        "scheme_of_comparison", E.SchemeError, wb.compare, ("bowl",), ("compare", "--schemes", "bowl"), "bowl"
    ),
    Mistake(
        "combination",
        E.SchemeError,
        wb.run,
        ("nn",),
        ("run", "nn", "--scheme", "bow+malekeh"),
        "a register file has one collector",
        {"scheme": "bow+malekeh"},
    ),
    Mistake(
        "scheduler_of_scheme",
        E.SchemeError,
        wb.run,
        ("nn",),
        ("run", "nn", "--scheme", "ltrf", "--set", "sub_core.front_end.scheduler=gto"),
        "two_level",
        {"scheme": "ltrf", "overrides": {"sub_core.front_end.scheduler": "gto"}},
    ),
    Mistake(
        "preset",
        E.ConfigError,
        wb.run,
        ("nn",),
        ("run", "nn", "--preset", "turning"),
        "Did you mean turing?",
        {"preset": "turning"},
    ),
    Mistake("preset_type", E.ArgumentError, wb.compare, (), (), "preset takes a text", {"preset": 4}),
    Mistake("kernel_type", E.ArgumentError, wb.run, (4,), (), "kernel takes a text"),
    Mistake(
        "field",
        E.ConfigError,
        wb.run,
        ("nn",),
        ("run", "nn", "--set", "sub_core.bank=4"),
        "banks",
        {"overrides": {"sub_core.bank": 4}},
    ),
    Mistake(
        "value_of_field",
        E.ConfigError,
        wb.run,
        ("nn",),
        ("run", "nn", "--set", "sub_core.banks=three"),
        "whole number",
        {"overrides": {"sub_core.banks": "three"}},
    ),
    Mistake(
        "impossible_machine",
        E.ConfigError,
        wb.lockstep,
        ("nn",),
        ("lockstep", "nn", "--set", "sub_core.banks=3"),
        "power of two",
        {"overrides": ["sub_core.banks=3"]},
    ),
    Mistake(
        "override",
        E.ConfigError,
        wb.compare,
        (),
        ("compare", "--set", "banks"),
        "field=value",
        {"overrides": "banks"},
    ),
    Mistake("overrides_type", E.ArgumentError, wb.run, ("nn",), (), "overrides takes", {"overrides": 4}),
    Mistake(
        "override_type",
        E.ArgumentError,
        wb.run,
        ("nn",),
        (),
        "sub_core.banks takes a whole number",
        {"overrides": {"sub_core.banks": 4.5}},
    ),
    Mistake(
        "config",
        E.ConfigError,
        wb.run,
        ("nn",),
        ("run", "nn", "--config", "none.toml"),
        "none.toml",
        {"config": "none.toml"},
    ),
    Mistake(
        "two_machines",
        E.ArgumentError,
        wb.run,
        ("nn",),
        ("run", "nn", "--config", "m.toml", "--preset", "tiny"),
        "both name a machine",
        {"config": "m.toml", "preset": "tiny"},
    ),
    Mistake(
        "registers",
        E.ArgumentError,
        wb.run,
        ("nn",),
        ("run", "nn", "--max-registers", "5"),
        "16",
        {"max_registers": 5},
        own_words=True,
    ),
    Mistake(
        "instructions",
        E.ArgumentError,
        wb.run,
        ("nn",),
        ("run", "nn", "--max-instructions", "0"),
        "1",
        {"max_instructions": 0},
        own_words=True,
    ),
    Mistake(
        "engine",
        E.EngineError,
        wb.run,
        ("nn",),
        ("run", "nn", "--engine", "spice"),
        "verilator",
        {"engine": "spice"},
        own_words=True,
    ),
    Mistake(
        "engine_of_lockstep",
        E.EngineError,
        wb.lockstep,
        ("nn",),
        ("lockstep", "nn", "--engine", "golden"),
        "pysim",
        {"engine": "golden"},
        own_words=True,
    ),
    Mistake("switch", E.ArgumentError, wb.run, ("nn",), (), "True or False", {"fast": "yes"}),
    Mistake(
        "workers",
        E.ArgumentError,
        wb.compare,
        (),
        ("compare", "--workers", "0"),
        "1",
        {"workers": 0},
        own_words=True,
    ),
    Mistake(
        "cta_that_does_not_fit",
        E.LaunchError,
        wb.run,
        ("vectoradd",),
        ("run", "vectoradd", "--size", "tiny", "--set", "sub_core.rows=2"),
        "registers",
        {"size": "tiny", "overrides": {"sub_core.rows": 2}},
    ),
    Mistake(
        "waves",
        E.EngineError,
        wb.run,
        ("nn",),
        ("run", "nn", "--waves", "w.txt"),
        ".vcd or .fst",
        {"waves": "w.txt"},
    ),
    Mistake(
        "waves_cycles",
        E.ArgumentError,
        wb.run,
        ("nn",),
        (),
        "(100, 200)",
        {"waves": "w.vcd", "wave_cycles": 3},
    ),
    Mistake(
        "energy",
        E.EnergyError,
        wb.run,
        ("nn",),
        ("run", "nn", "--energy", "commun"),
        "Did you mean common?",
        {"energy": "commun"},
    ),
    Mistake(
        "energy_file",
        E.EnergyError,
        wb.run,
        ("nn",),
        ("run", "nn", "--energy", "none.toml"),
        "none.toml",
        {"energy": "none.toml"},
    ),
    Mistake(
        "trace",
        E.TraceError,
        wb.run,
        (),
        ("run", "--trace", "none.traceg"),
        "there is no trace none.traceg",
        {"trace": "none.traceg"},
    ),
    Mistake(
        "trace_and_kernel",
        E.ArgumentError,
        wb.run,
        ("nn",),
        ("run", "nn", "--trace", "none.traceg"),
        "leave out KERNEL",
        {"trace": "none.traceg"},
    ),
    Mistake(
        "trace_without_values",
        E.TraceError,
        wb.run,
        (),
        ("run", "--trace", "none.traceg", "--scheme", "gscalar"),
        "values of registers",
        {"trace": "none.traceg", "scheme": "gscalar"},
    ),
    Mistake("source", E.CompileError, wb.compile, ("none.cu",), ("compile", "none.cu"), "none.cu"),
    Mistake(
        "architecture",
        E.CompileError,
        wb.compile,
        ("k.cu",),
        ("compile", "k.cu", "--arch", "turing"),
        "no GPU architecture",
        {"arch": "turing"},
    ),
    Mistake(
        "output",
        E.OutputError,
        wb.compile,
        ("k.cu",),
        ("compile", "k.cu", "--output", "no/k.ptx"),
        "cannot write no/k.ptx",
        {"output": "no/k.ptx"},
    ),
    Mistake("sweep", E.SweepError, wb.sweep, ("none.toml",), ("sweep", "none.toml"), "none.toml"),
    Mistake("source_nul", E.ArgumentError, wb.compile, ("k\0.cu",), (), "without NUL characters"),
    Mistake("preset_nul", E.ArgumentError, wb.run, ("nn",), (), "preset takes a name", {"preset": "\0.toml"}),
    Mistake("published", E.ArgumentError, wb.compare, (), (), "True or False", {"as_published": "no"}),
    Mistake("source_type", E.ArgumentError, wb.compile, (3,), (), "source takes"),
    Mistake("macros", E.ArgumentError, wb.compile, ("k.cu",), (), "{'SIZE': 4}", {"defines": ["A"]}),
    Mistake("include", E.ArgumentError, wb.compile, ("k.cu",), (), "list of names", {"include": 3}),
    Mistake("progress", E.ArgumentError, wb.run, ("nn",), (), "function", {"progress": 3, "size": "tiny"}),
    Mistake("sweep_names", E.SweepError, wb.Sweep, (("nn",), (3,)), (), "schemes takes names in quotes"),
    Mistake("sweep_presets", E.SweepError, wb.Sweep, (("nn",),), (), "several values", {"presets": 3}),
    Mistake("sweep_registers", E.SweepError, wb.Sweep, (("nn",),), (), "16 to 255", {"max_registers": (5,)}),
    Mistake("sweep_kernels", E.SweepError, wb.Sweep, ("nn",), (), "('nn',)"),
    Mistake("sweep_empty", E.SweepError, wb.Sweep, ((),), (), "kernels has no values"),
    Mistake(
        "sweep_output",
        E.OutputError,
        wb.sweep,
        ("s.toml",),
        ("sweep", "s.toml", "--output", "no/s.parquet"),
        "no/s.parquet",
        {"output": "no/s.parquet"},
    ),
    Mistake(
        "no_schemes", E.ArgumentError, wb.compare, ([],), ("compare", "--schemes", ","), "at least one name"
    ),
    Mistake("schemes_type", E.ArgumentError, wb.compare, (3,), (), "schemes takes a list of names"),
    Mistake(
        "scheduler",
        E.ClusterError,
        wb.sweep,
        ("s.toml",),
        ("sweep", "s.toml", "--scheduler", "nowhere"),
        "no dask scheduler answers at nowhere",
        {"scheduler": "nowhere"},
    ),
    Mistake(
        "config_of_comparison",
        E.ConfigError,
        wb.compare,
        (),
        ("compare", "--config", "none.toml"),
        "none.toml",
        {"config": "none.toml"},
    ),
    Mistake(
        "two_machines_of_comparison",
        E.ArgumentError,
        wb.compare,
        (),
        ("compare", "--config", "m.toml", "--preset", "tiny"),
        "both name a machine",
        {"config": "m.toml", "preset": "tiny"},
    ),
    Mistake(
        "config_that_is_none",
        E.ConfigError,
        wb.compare,
        (),
        ("compare", "--config", "k.cu"),
        "ends in .toml",
        {"config": "k.cu"},
    ),
    Mistake(
        "folder_of_comparison",
        E.OutputError,
        wb.compare,
        (),
        ("compare", "--output", "k.cu/page"),
        "cannot make the folder k.cu/page: Not a directory",
        {"output": "k.cu/page"},
    ),
    Mistake(
        "folder_as_output",
        E.OutputError,
        wb.compile,
        ("k.cu",),
        ("compile", "k.cu", "--output", "."),
        "it is a folder",
        {"output": "."},
    ),
    Mistake(
        "folder_of_waves",
        E.OutputError,
        wb.run,
        ("nn",),
        ("run", "nn", "--engine", "pysim", "--waves", "no/w.vcd"),
        "cannot write no/w.vcd",
        {"engine": "pysim", "waves": "no/w.vcd"},
    ),
    Mistake(
        "too_many_workers",
        E.ArgumentError,
        wb.compare,
        (),
        ("compare", "--workers", "1000000"),
        "1024",
        {"workers": 1_000_000},
        own_words=True,
    ),
    Mistake(
        "too_many_instructions",
        E.ArgumentError,
        wb.run,
        ("nn",),
        ("run", "nn", "--max-instructions", "9" * 30),
        "1000000000000000",
        {"max_instructions": 10**30},
        own_words=True,
    ),
    Mistake(
        "trace_of_lockstep",
        E.TraceError,
        wb.lockstep,
        (),
        ("lockstep", "--trace", "none.traceg"),
        "there is no trace none.traceg",
        {"trace": "none.traceg"},
    ),
    Mistake(
        "trace_and_kernel_of_lockstep",
        E.ArgumentError,
        wb.lockstep,
        ("nn",),
        ("lockstep", "nn", "--trace", "none.traceg"),
        "leave out KERNEL",
        {"trace": "none.traceg"},
    ),
    Mistake("no_kernel_of_lockstep", E.ArgumentError, wb.lockstep, (), ("lockstep",), "name a kernel"),
    Mistake(
        "fields_of_no_scheme",
        E.SweepError,
        wb.sweep,
        ("own.toml",),
        ("sweep", "own.toml"),
        "Did you mean bow?",
    ),
    Mistake(
        "extension", E.ExtensionError, wb.load, ("none.py",), ("--load", "none.py", "kernels"), "none.py"
    ),
)
#: Sentences that name an argument as the API or as the command line has it, or that quote the system, which
#: does not always say the same of a host that is not there.
DIFFERENT = {"no_schemes", "scheduler"}


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with few files, so that most names are of files that are not there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.toml").write_text('preset = "tiny"\n')
    # No other test runs this machine: what is in the cache needs no scheduler.
    (tmp_path / "s.toml").write_text(
        'kernels = ["nn"]\nsize = "tiny"\n[fields]\n"memory.dram_latency" = 157\n'
    )
    (tmp_path / "own.toml").write_text(
        'kernels = ["nn"]\nschemes = ["bow"]\n[scheme_fields.bov]\n"sub_core.collector.window" = [2]\n'
    )
    (tmp_path / "k.cu").write_text('#include "warpbank.cuh"\nextern "C" __global__ void k() {}\n')


@pytest.mark.usefixtures("_folder")
@pytest.mark.parametrize("mistake", BOTH, ids=lambda mistake: mistake.name)
def test_a_mistake(mistake: Mistake) -> None:
    with pytest.raises(mistake.error) as caught:
        mistake.call(*mistake.arguments, **mistake.keywords)
    assert type(caught.value) is mistake.error
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert mistake.said in sentence
    if not mistake.words:
        return
    done = warpbank(*mistake.words)
    assert done.code == caught.value.exit_code == 2, done.err
    assert "Traceback" not in done.err
    if mistake.own_words or mistake.name in DIFFERENT:
        assert mistake.said.split(",")[0] in done.err
    else:
        assert done.err == f"error: {sentence}\n"


def test_an_engine_without_its_wheels() -> None:
    """As on a machine where only the golden model is installed. A process of its own has imported nothing
    yet."""
    code = """
import sys
sys.modules["amaranth"] = None
import warpbank as wb
from tests.cli.command import warpbank
for call, words in ((wb.run, ("run", "--engine", "pysim")), (wb.lockstep, ("lockstep", "--engine", "pysim"))):
    try:
        call("vectoradd", size="tiny", preset="tiny", engine="pysim")
    except wb.errors.EngineError as error:
        done = warpbank(words[0], "vectoradd", "--size", "tiny", "--preset", "tiny", *words[1:])
        assert (done.code, done.err) == (2, f"error: {error}\\n"), done
        print(error)
"""
    command = [sys.executable, "-c", code]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    assert done.stdout.count("pip install 'warpbank[rtl]'") == 2, done.stderr


def _all_errors() -> list[type[errors.WarpbankError]]:
    return [getattr(errors, name) for name in errors.__all__]


def test_one_hierarchy() -> None:
    """Every class that is raised is under the root, listed, and says what it is."""
    for kind in _all_errors():
        assert issubclass(kind, errors.WarpbankError)
        assert inspect.getdoc(kind)
        assert kind.__doc__ != errors.WarpbankError.__doc__ or kind is errors.WarpbankError
    assert errors.__all__ == sorted(errors.__all__)
    todo, found = [errors.WarpbankError], set()
    while todo:
        kind = todo.pop()
        found.add(kind)
        todo += kind.__subclasses__()
    private = {kind for kind in found if kind.__module__.startswith("warpbank.program.accelsim")}
    ours = {kind for kind in found if kind.__module__.startswith("warpbank.")}
    assert ours - private == set(_all_errors())


def test_wrong_values_are_value_errors() -> None:
    for kind in (E.ArgumentError, E.ConfigError, E.SchemeError, E.KernelError, E.CompileError, E.SweepError):
        assert issubclass(kind, ValueError)


def _mismatch() -> OperandMismatch:
    return OperandMismatch("k", 1, 2, 0, 3, 7, 5, 4, 0xAB, 0xCD, "  FADD R1, R5, R2")


@pytest.mark.parametrize(
    "error",
    [_mismatch(), PtxError("a.ptx", 3, "no such instruction"), *(kind("x") for kind in _all_errors()[:4])],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_pickled(error: errors.WarpbankError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert (str(found), vars(found)) == (str(error), vars(error))


def _raise() -> None:
    raise _mismatch()


def test_an_operand_mismatch_comes_back_from_a_worker() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        error = pool.submit(_raise).exception(60)
    assert isinstance(error, OperandMismatch)
    assert (error.warp, error.slot, error.register, error.expected, error.found) == (2, 3, 5, 0xAB, 0xCD)
    assert "R5, lane 4: expected 0x000000ab, found 0x000000cd" in str(error)
    assert error.exit_code == 1


@pytest.mark.parametrize(
    "result", [Ptx(Path("k.cu"), "sm_75", "", ()), SweepResult(wb.Sweep(("nn",)), ())], ids=["ptx", "sweep"]
)
def test_a_result_is_written_to_a_name(result: Ptx | SweepResult) -> None:
    with pytest.raises(E.ArgumentError, match="path takes a text in quotes or a Path, not 5"):
        result.write(5)  # type: ignore[arg-type]
