"""Fourteen CUDA programs written as people write them: each compiles, and runs whole with its kernels in the
emulator; its own `main` compares them with what the host computes."""

from __future__ import annotations

import ctypes
import platform
import sys
from pathlib import Path

import pytest

from tests.program.cuda.programs import Program
from warpbank.program.cuda import compile_source
from warpbank.program.cuda.names import source_name

SOURCES = sorted(Path(__file__).with_name("sources").glob("*.cu"))

#: Programs that the default run takes; the others are like them.
QUICK = {"vector_add", "convolution", "groups_scan", "half_axpy", "life", "texture_filter"}

#: What each launches, in order and without repetition, by the names that the source has.
KERNELS = {
    "bitonic_sort": ["sort_shared", "merge"],
    "black_scholes": ["black_scholes<float>", "black_scholes<double>"],
    "convolution": ["convolve"],
    "groups_scan": ["scan", "statistics"],
    "half_axpy": ["axpy", "dot", "scale"],
    "hash_table": ["build", "look_up"],
    "histogram": ["histogram", "extremes"],
    "life": ["life"],
    "matmul_tiled": ["matmul<16>", "matmul<8>"],
    "nbody": ["step"],
    "reduction": ["block_reduce<double, Sum<double>>", "block_reduce<double, Max<double>>", "atomic_sum"],
    "texture_filter": ["sharpen", "paint"],
    "transform": ["device::transform"] * 5,
    "vector_add": ["vector_add"],
}

pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64",
        reason="the host side is compiled for Linux on x86-64",
    ),
]


def _case(source: Path) -> object:
    return pytest.param(source, id=source.stem, marks=() if source.stem in QUICK else (pytest.mark.long,))


@pytest.mark.parametrize("source", map(_case, SOURCES))
def test_kernels_agree_with_the_host_code_of_the_program(source: Path, tmp_path: Path) -> None:
    program = Program(source, tmp_path)
    assert program.run() == 0
    launched = [source_name(name) for name in dict.fromkeys(program.launches)]
    if source.stem == "transform":  # its functors are too long a name to spell out here
        launched = [name.partition("<")[0] for name in launched]
    assert launched == KERNELS[source.stem]


def test_there_are_twelve_programs() -> None:
    assert len(SOURCES) >= 12
    assert {source.stem for source in SOURCES} == set(KERNELS)


def test_a_program_notices_a_wrong_kernel(tmp_path: Path) -> None:
    """The comparison is the program's own: with one operator changed in the PTX alone, `main` fails."""
    program = Program(Path(__file__).with_name("sources") / "vector_add.cu", tmp_path)
    program.ptx = program.ptx.replace("add.f32", "sub.f32")
    assert program.run() == 1


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
@pytest.mark.long
@pytest.mark.parametrize("arch", ["sm_60", "sm_70", "sm_80", "sm_90"])
def test_every_gpu(source: Path, arch: str) -> None:
    assert f".target {arch}" in compile_source(source, arch=arch).ptx


def test_device_memory_is_where_the_emulator_has_it(tmp_path: Path) -> None:
    """Pointers inside structures are right only if both sides give a block one address."""
    program = Program(Path(__file__).with_name("sources") / "hash_table.cu", tmp_path)
    assert program.run() == 0
    size = ctypes.c_uint64()
    assert program.library.warpbank_block(0, ctypes.byref(size)) == 0x10_0000_0000
    assert size.value == 1024 * 8
