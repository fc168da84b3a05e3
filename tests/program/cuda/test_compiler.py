"""The CUDA compiler: headers, host code, variables, macros, notes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from warpbank.program.cuda import compile_cuda, compile_source
from warpbank.program.cuda.compiler import LEVELS
from warpbank.program.description import load_job
from warpbank.program.errors import CompileError, LaunchError
from warpbank.program.runner import execute

pytestmark = pytest.mark.compile

HEADERS = [
    "assert.h",
    "cassert",
    "math.h",
    "cmath",
    "stdio.h",
    "cstdio",
    "stdlib.h",
    "cstdlib",
    "string.h",
    "cstring",
    "stdint.h",
    "cstdint",
    "limits.h",
    "float.h",
    "time.h",
    "sys/time.h",
    "unistd.h",
    "iostream",
    "fstream",
    "sstream",
    "iomanip",
    "string",
    "vector",
    "array",
    "map",
    "unordered_map",
    "set",
    "algorithm",
    "numeric",
    "functional",
    "memory",
    "utility",
    "tuple",
    "limits",
    "random",
    "chrono",
    "thread",
    "mutex",
    "complex",
    "type_traits",
    "stdexcept",
]


def _source(folder: Path, text: str) -> Path:
    file = folder / "k.cu"
    file.write_text(text)
    return file


@pytest.mark.parametrize("usual_first", [False, True])
def test_every_stand_in_and_the_usual_headers_together(usual_first: bool, tmp_path: Path) -> None:
    folder = Path(str(files("warpbank.program.cuda") / "include"))
    stand_ins = [str(p.relative_to(folder)) for p in sorted(folder.rglob("*")) if p.is_file()]
    assert "cuda_runtime.h" in stand_ins
    lines = "".join(
        f"#include <{name}>\n" for name in ([*HEADERS, *stand_ins] if usual_first else [*stand_ins, *HEADERS])
    )
    text = lines + "__global__ void k(float *p) { p[threadIdx.x] = std::sqrt(p[0]); }\n"
    assert ".entry _Z1kPf" in compile_cuda(_source(tmp_path, text))


@pytest.mark.parametrize(
    "header", ["cuda_fp16.h", "cooperative_groups/scan.h", "math_constants.h", "vector_types.h"]
)
def test_a_stand_in_by_itself(header: str, tmp_path: Path) -> None:
    assert ".entry" in compile_cuda(_source(tmp_path, f"#include <{header}>\n__global__ void k() {{}}\n"))


def test_host_code_is_dropped_and_its_launches_instantiate_templates(tmp_path: Path) -> None:
    text = """
#include <iostream>
template <typename T> __global__ void k(T *p) { *p = T(threadIdx.x); }
static int helper(int x) { return x + 1; }
int main() { int *p; cudaMalloc(&p, 4); k<<<dim3(2, 2), 32, 16>>>(p); std::cout << helper(1) << std::endl; }
"""
    compiled = compile_source(_source(tmp_path, text))
    assert compiled.ptx.count(".entry") == 1
    assert "_Z1kIiEvPT_" in compiled.ptx
    assert "helper" not in compiled.ptx
    assert compiled.notes == ()


def test_host_functions_that_do_not_parse_are_left_out_with_a_note(tmp_path: Path) -> None:
    text = """#include <cublas_v2.h>
__global__ void k(int *p) { *p = 1; }
void multiply(cublasHandle_t handle)
{
    cublasSgemm(handle);
}
int main()
{
    k<<<1, 1>>>(0);
    return nothing;
}
"""
    file = _source(tmp_path, text)
    notes = compile_source(file).notes
    assert notes[0] == f"{file}:1: cublas_v2.h is not here and taken as empty"
    assert notes[1].startswith(f"{file}:3: the host function multiply is left out; line 3: unknown type name")
    assert notes[2].startswith(f"{file}:7: the host function main is left out; line 10: use of undeclared")


@pytest.mark.parametrize(("defines", "traps"), [({}, True), ({"NDEBUG": 1}, False)])
def test_assert_needs_no_header(defines: dict[str, int], traps: bool, tmp_path: Path) -> None:
    text = "__global__ void k(int *p) { assert(p[0] == 1); p[threadIdx.x] = 2; }\n"
    assert ("trap;" in compile_cuda(_source(tmp_path, text), defines=defines)) == traps


def test_an_error_in_device_code_stays_an_error(tmp_path: Path) -> None:
    text = "__device__ int f() { return nothing; }\n__global__ void k(int *p) { *p = f(); }\n"
    text += "int main() { return no; }\n"
    with pytest.raises(CompileError, match=r"k\.cu:1:.*error: use of undeclared identifier 'nothing'"):
        compile_cuda(_source(tmp_path, text))


def test_an_unknown_header_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=r"k\.cu:1:.*'mine\.cuh' file not found"):
        compile_cuda(_source(tmp_path, '#include "mine.cuh"\n__global__ void k() {}\n'))


@pytest.mark.parametrize("storage", ["static __constant__", "static __device__", "namespace { __constant__"])
def test_private_variables_stay_and_can_be_filled(storage: str, tmp_path: Path) -> None:
    close = " }" if "{" in storage else ""
    _source(
        tmp_path,
        f"{storage} int table[4];{close}\n"
        "__global__ void k(int *p) { p[threadIdx.x] = table[threadIdx.x & 3]; }\n",
    )
    ptx = tmp_path / "k.ptx"
    ptx.write_text(compile_cuda(tmp_path / "k.cu"))
    (tmp_path / "k.toml").write_text(
        '[buffers.p]\ntype = "s32"\nshape = 32\n[symbols.table]\ntype = "s32"\nvalues = [7, 8, 9, 10]\n'
        '[[launch]]\nentry = "k"\ngrid = 1\nblock = 32\nargs = ["p"]\n'
    )
    found = execute(load_job(ptx)).buffers["p"]
    assert np.array_equal(found, np.tile([7, 8, 9, 10], 8))


def test_macros_of_the_user_come_behind_the_device_header(tmp_path: Path) -> None:
    text = "__global__ void k(T *x) { *x = N X; }\n"
    file = _source(tmp_path, text)
    assert ", 17;" in compile_cuda(file, defines={"N": 16, "T": "int", "X": "+ 1"})


def test_printf_is_compiled_away_with_a_note(tmp_path: Path) -> None:
    text = '#include <stdio.h>\n__global__ void k(int *p) {\n    printf("%d", *p);\n}\n'
    text += 'int main() { printf("host"); }\n'
    file = _source(tmp_path, text)
    compiled = compile_source(file)
    assert compiled.notes == (f"{file}:3: printf in device code does nothing",)
    assert "vprintf" not in compiled.ptx


def test_assertions_trap_unless_ndebug(tmp_path: Path) -> None:
    text = "#include <assert.h>\n__global__ void k(int *p) { assert(*p > 0); }\nint main() { assert(1); }\n"
    file = _source(tmp_path, text)
    assert "trap;" in compile_cuda(file)
    assert "trap;" not in compile_cuda(file, defines={"NDEBUG": 1})


def test_a_source_without_kernel_is_noted(tmp_path: Path) -> None:
    (note,) = compile_source(_source(tmp_path, "template <class T> __global__ void k(T *p) {}\n")).notes
    assert "has no kernel" in note


@pytest.mark.parametrize("level", LEVELS)
def test_levels(level: str, tmp_path: Path) -> None:
    text = "__global__ void k(float *p) { p[threadIdx.x] += 1; }\n"
    assert ".entry _Z1kPf" in compile_cuda(_source(tmp_path, text), optimize=level)


def test_dialects(tmp_path: Path) -> None:
    text = "template <class T> concept Any = true;\ntemplate <Any T> __global__ void k(T *p) {}\n"
    text += "template __global__ void k(int *);\n"
    assert ".entry" in compile_cuda(_source(tmp_path, text), standard="c++20")
    with pytest.raises(CompileError, match="concept"):
        compile_cuda(tmp_path / "k.cu", standard="c++17")
    with pytest.raises(CompileError, match=r"'c99' is no dialect of C\+\+ known here"):
        compile_cuda(tmp_path / "k.cu", standard="c99")
    with pytest.raises(CompileError, match="'7' is no level of optimization"):
        compile_cuda(tmp_path / "k.cu", optimize="7")
    with pytest.raises(CompileError, match=r"there is no folder .*absent to look for headers in"):
        compile_cuda(tmp_path / "k.cu", include=[tmp_path / "absent"])


def test_names_of_a_launch_description_need_not_be_mangled(tmp_path: Path) -> None:
    text = "template <int N> __global__ void k(int *p) { p[threadIdx.x] = N; }\n"
    text += "template __global__ void k<3>(int *);\ntemplate __global__ void k<4>(int *);\n"
    ptx = tmp_path / "k.ptx"
    ptx.write_text(compile_cuda(_source(tmp_path, text)))

    def launch(entry: str) -> None:
        (tmp_path / "k.toml").write_text(
            '[buffers.p]\ntype = "s32"\nshape = 32\n'
            f'[[launch]]\nentry = "{entry}"\ngrid = 1\nblock = 32\nargs = ["p"]\n'
        )

    launch("k<4>")
    assert execute(load_job(ptx)).buffers["p"].tolist() == [4] * 32
    launch("k")
    with pytest.raises(LaunchError, match=r"'k' may mean any of k<3>, k<4>; write one of them in full"):
        load_job(ptx)
    launch("j")
    with pytest.raises(LaunchError, match=r"the PTX has no kernel 'j'; it has k<3>, k<4>"):
        load_job(ptx)
