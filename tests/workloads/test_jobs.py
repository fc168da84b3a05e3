"""Every shipped kernel: its jobs are well formed and deterministic, and its PTX is what the compiler makes of
its source."""

import re
from importlib.metadata import version
from importlib.resources import as_file, files

import numpy as np
import pytest

from warpbank import workloads
from warpbank.program.cuda import DEFAULT_ARCH, compile_cuda, source_arch
from warpbank.program.emulator.check import check_expected
from warpbank.program.errors import CompileError
from warpbank.program.launch import Pointer
from warpbank.program.runner import execute

#: The ziglang wheel (that is, the LLVM) that made the committed PTX. Another may order registers and
#: instructions differently.
PTX_MADE_BY = "0.17"
KERNELS = workloads.names(workloads.ALL)


def entries(ptx: str) -> dict[str, list[int]]:
    """The kernels of a module: name to the sizes in bytes of the parameters."""
    found = {}
    for name, parameters in re.findall(r"\.entry\s+(\w+)\s*\(([^)]*)\)", ptx):
        bits = [int(b) for b in re.findall(r"\.param\s+\.[busf](\d+)", parameters)]
        found[name] = [b // 8 for b in bits]
    return found


def source(name: str):
    return as_file(files("warpbank.workloads") / "cuda" / f"{name}.cu")


def assert_same_arrays(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key, array in one.items():
        assert array.dtype == other[key].dtype
        assert array.shape == other[key].shape
        assert array.tobytes() == other[key].tobytes(), key


@pytest.mark.parametrize("size", ["tiny", "small"])
@pytest.mark.parametrize("name", KERNELS)
def test_job_is_deterministic(name, size):
    one, other = workloads.get(name).job(size), workloads.get(name).job(size)
    assert_same_arrays(one.buffers, other.buffers)
    assert_same_arrays(one.symbols, other.symbols)
    assert_same_arrays(
        {k: e.value for k, e in one.expected.items()}, {k: e.value for k, e in other.expected.items()}
    )
    assert one.launches == other.launches


@pytest.mark.parametrize("size", workloads.SIZES)
@pytest.mark.parametrize("name", KERNELS)
def test_launches_fit_the_ptx(name, size):
    job = workloads.get(name).job(size)
    assert (job.name, job.size) == (name, size)
    kernels = entries(job.ptx)
    assert job.launches
    for launch in job.launches:
        assert launch.entry in kernels
        assert all(extent > 0 for extent in (*launch.grid, *launch.block))
        assert np.prod(launch.block) <= 1024
        sizes = []
        for argument in launch.args:
            if isinstance(argument, str | Pointer):
                buffer = argument if isinstance(argument, str) else argument.buffer
                assert buffer in job.buffers, f"{launch.entry}: there is no buffer {buffer}"
                sizes.append(8)
            else:
                sizes.append(len(argument) if isinstance(argument, bytes) else argument.nbytes)
        if not any(
            isinstance(argument, bytes) for argument in launch.args
        ):  # structures are .b8 arrays in PTX
            assert sizes == kernels[launch.entry]
    for symbol in job.symbols:
        assert re.search(rf"\.(const|global)\s.*\b{symbol}\b", job.ptx), f"the PTX has no variable {symbol}"


@pytest.mark.parametrize("size", workloads.SIZES)
@pytest.mark.parametrize("name", KERNELS)
def test_expectations_fit_the_buffers(name, size):
    job = workloads.get(name).job(size)
    assert job.expected
    for buffer, expected in job.expected.items():
        initial = job.buffers[buffer]
        assert expected.value.shape == initial.shape, buffer
        assert expected.value.dtype == initial.dtype, buffer
        assert expected.rtol >= 0
        assert expected.atol >= 0
        assert np.isfinite(expected.value).all(), buffer
        # An expectation that the initial content meets would show nothing.
    assert any(
        not np.allclose(e.value, job.buffers[b], rtol=e.rtol, atol=e.atol, equal_nan=True)
        for b, e in job.expected.items()
    )


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_has_its_three_files(name):
    package = files("warpbank.workloads")
    assert (package / "cuda" / f"{name}.cu").is_file()
    assert (package / "ptx" / f"{name}.ptx").is_file()
    workload = workloads.get(name)
    assert workload.name == name
    assert workload.summary
    assert workload.origin


def test_no_orphans():
    package = files("warpbank.workloads")
    for folder in ("cuda", "ptx"):
        stems = {
            f.name.rpartition(".")[0]
            for f in (package / folder).iterdir()
            if f.name.endswith((".cu", ".ptx"))
        }
        assert stems == set(KERNELS)


def test_groups_share_all_kernels():
    groups = [workloads.names(group) for group in workloads.GROUPS]
    assert sorted(name for group in groups for name in group) == list(KERNELS)
    assert [len(group) for group in groups] == [27, 10, 6]
    assert workloads.names() == groups[0]


def test_groups_stand_for_their_kernels():
    assert workloads.expand(["nn", "deep-learning", "own.ptx"]) == (
        *("nn", *workloads.names("deep-learning"), "own.ptx"),
    )
    assert workloads.expand(["all"]) == KERNELS
    assert workloads.groups(["nn", "lstm", "bfs", "own.ptx"]) == {"core": 2, "deep-learning": 1}


@pytest.mark.parametrize("size", ["tiny", pytest.param("small", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [*workloads.names("register-sensitive"), *workloads.names("deep-learning")])
def test_results_are_those_of_the_reference(name, size):
    job = workloads.get(name).job(size)
    found = check_expected(job, execute(job).buffers)
    assert found.passed, found.first


def test_unknown_names_and_sizes_are_refused():
    with pytest.raises(ValueError, match=r"Unknown kernel 'sgem'\. Did you mean sgemm"):
        workloads.get("sgem")
    with pytest.raises(ValueError, match="no size 'huge'; the sizes are tiny, small, full"):
        workloads.get("sgemm").job("huge")


@pytest.mark.parametrize("name", KERNELS)
def test_ptx_is_self_contained(name):
    ptx, _ = workloads.ptx_text(name)
    assert not re.search(r"\bvprintf\b|__nv_|\.extern\s+\.func|\.file\b", ptx)
    with source(name) as path:
        assert f".target {source_arch(path)}" in ptx


@pytest.mark.compile
@pytest.mark.parametrize("name", KERNELS)
def test_committed_ptx_is_what_the_compiler_makes(name):
    committed, _ = workloads.ptx_text(name)
    with source(name) as path:
        made = compile_cuda(path)
        assert str(path.parent) not in made
    if version("ziglang").startswith(PTX_MADE_BY):
        assert made == committed, f"stale: warpbank compile workloads/cuda/{name}.cu"
    else:
        assert entries(made) == entries(committed)


@pytest.mark.compile
class TestCompileCuda:
    def test_defines_includes_and_arch(self, tmp_path):
        (tmp_path / "headers").mkdir()
        (tmp_path / "headers" / "mine.cuh").write_text("#define FACTOR 3\n")
        kernel = tmp_path / "scale.cu"
        kernel.write_text(
            '#include "warpbank.cuh"\n#include "mine.cuh"\n'
            'extern "C" __global__ void scale(int *p) { p[threadIdx.x] *= FACTOR * MORE; }\n'
        )
        ptx = compile_cuda(kernel, arch="sm_80", defines={"MORE": 7}, include=[tmp_path / "headers"])
        assert ".target sm_80" in ptx
        assert ", 21;" in ptx
        assert str(tmp_path) not in ptx

    def test_arch_of_the_first_line(self, tmp_path):
        kernel = tmp_path / "k.cu"
        kernel.write_text('// arch: sm_86\nextern "C" __attribute__((global)) void k() {}\n')
        assert source_arch(kernel) == "sm_86"
        assert ".target sm_86" in compile_cuda(kernel)
        kernel.write_text("// something else\n// arch: sm_86\n")
        assert source_arch(kernel) == DEFAULT_ARCH

    def test_what_the_compiler_says_is_in_the_error(self, tmp_path):
        kernel = tmp_path / "wrong.cu"
        kernel.write_text('#include "warpbank.cuh"\nextern "C" __global__ void k(int *p) { *p = nothing; }\n')
        with pytest.raises(CompileError, match=r"wrong\.cu:2:.*use of undeclared identifier 'nothing'"):
            compile_cuda(kernel)

    def test_no_such_source(self, tmp_path):
        with pytest.raises(CompileError, match=r"there is no CUDA source .*absent\.cu"):
            compile_cuda(tmp_path / "absent.cu")

    def test_unknown_arch(self, tmp_path):
        kernel = tmp_path / "k.cu"
        kernel.write_text("")
        with pytest.raises(CompileError, match="'gfx90a' is no GPU architecture"):
            compile_cuda(kernel, arch="gfx90a")

    def test_missing_wheel(self, tmp_path, monkeypatch):
        kernel = tmp_path / "k.cu"
        kernel.write_text("")
        monkeypatch.setattr("warpbank.program.cuda.compiler.find_spec", lambda name: None)
        with pytest.raises(CompileError, match=r"pip install 'warpbank\[compile\]'"):
            compile_cuda(kernel)
