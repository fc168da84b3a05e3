"""Compile options: what they refuse, what they say of themselves, and that every choice leaves what a kernel
computes as it is."""

from __future__ import annotations

import pytest

from warpbank import workloads
from warpbank.arch.errors import ArgumentError
from warpbank.program.emulator.check import check_expected
from warpbank.program.options import CodeOrder, CompileOptions, ConstantPlace, choice
from warpbank.program.runner import Options, compile_job, execute, job_key, trace_job

#: Kernels of different kinds: divergent, dense, loop-carried, with constant data, with several launches.
FEW = ("bfs", "matrixmul", "mri_q", "gaussian", "spmv")
CHOICES = {
    "source": Options(CodeOrder.SOURCE),
    "registers": Options(constants=ConstantPlace.REGISTERS),
    "both": Options(CodeOrder.SOURCE, ConstantPlace.REGISTERS),
    "both, few registers": Options(CodeOrder.SOURCE, ConstantPlace.REGISTERS, max_registers=20),
    "registers, few registers": Options(constants=ConstantPlace.REGISTERS, max_registers=20),
    "none free": Options(free_registers=0),
    "all free": Options(free_registers=255),
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"free_registers": -1}, "free_registers takes a whole number from 0 to 255, not -1"),
        ({"free_registers": 256}, "free_registers takes a whole number from 0 to 255, not 256"),
        ({"free_registers": True}, "free_registers takes a whole number from 0 to 255, not True"),
        ({"max_registers": 15}, "max_registers takes a whole number from 16 to 255, not 15"),
    ],
)
def test_numbers_out_of_range_are_refused(changes, said):
    with pytest.raises(ArgumentError, match=said):
        CompileOptions(**changes)


def test_choices():
    assert choice(CodeOrder, "code_order", "source") is CodeOrder.SOURCE
    with pytest.raises(ArgumentError, match=r"Unknown code_order .sauce.\. Did you mean source"):
        choice(CodeOrder, "code_order", "sauce")


def test_words_and_label_name_what_is_unusual():
    assert CompileOptions().words() == []
    assert CompileOptions().label == ""
    options = CompileOptions(CodeOrder.SOURCE, ConstantPlace.REGISTERS, 16, 64)
    assert options.words() == [
        *("--code-order", "source", "--constants", "registers"),
        *("--free-registers", "16", "--max-registers", "64"),
    ]
    assert options.label == "code-order=source constants=registers free-registers=16 max-registers=64"


def test_every_choice_is_another_trace():
    job = workloads.get("vectoradd").job("tiny")
    keys = [job_key(job, options) for options in (Options(), *CHOICES.values())]
    assert len(set(keys)) == len(keys)
    assert job_key(job, Options(max_registers=255)) == keys[0]


def test_a_trace_says_how_it_was_compiled():
    meta = trace_job(workloads.get("vectoradd").job("tiny"), CHOICES["both"]).meta
    assert [meta[name] for name in ("code_order", "constants", "free_registers", "max_registers")] == [
        *("source", "registers", 24, 255)
    ]


def check(name: str, size: str, options: Options) -> None:
    job = workloads.get(name).job(size)
    found = check_expected(job, execute(job, options).buffers)
    assert found.passed, found.first


@pytest.mark.parametrize("form", CHOICES)
@pytest.mark.parametrize("name", FEW)
def test_results_are_right(name, form):
    check(name, "tiny", CHOICES[form])


#: Kernels of many registers spill nearly all of them into 20, and take long to be compiled so.
EVERY = [(name, form) for name in workloads.names() for form in CHOICES] + [
    (name, form)
    for group in (workloads.REGISTER_SENSITIVE, workloads.DEEP_LEARNING)
    for name in workloads.names(group)
    for form in ("source", "registers", "both", "none free")
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "form"), EVERY)
def test_results_are_right_of_every_kernel(name, form):
    check(name, "tiny", CHOICES[form])


@pytest.mark.parametrize("name", FEW)
def test_source_order_is_that_of_the_ptx(name):
    for kernel in compile_job(workloads.get(name).job("tiny"), CHOICES["source"]).values():
        for block in kernel.blocks:
            lines = [instr.line for instr in block.instrs if instr.line]
            assert lines == sorted(lines)
