"""Launch templates: what a signature tells, and that the result runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from warpbank.program.cuda import compile_cuda
from warpbank.program.cuda.template import launch_template
from warpbank.program.description import load_job
from warpbank.program.ptx.parser import parse
from warpbank.program.runner import execute

pytestmark = pytest.mark.compile

SOURCE = """
struct Pair { float a; int b; };
static __constant__ float weights[8];
template <typename T, int N>  // a comment with __global__ void no(int x)
__global__ void __launch_bounds__(64)
scale(const T *__restrict__ in, T *out, unsigned int n, float factor, Pair pair)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor * N + pair.a + weights[i & 7];
}
extern "C" __global__ void fill(double value, double values[], const unsigned char *mask)
{
    *values = value + *mask;
}
void host() { scale<float, 2><<<1, 64>>>(0, 0, 0, 0, Pair()); }
"""


def _template(folder: Path, source: str) -> dict[str, object]:
    file = folder / "k.cu"
    file.write_text(SOURCE)
    ptx = compile_cuda(file)
    (folder / "k.ptx").write_text(ptx)
    text = launch_template(parse(ptx, "k.ptx"), "k.ptx", source)
    (folder / "k.toml").write_text(text)
    return tomllib.loads(text)


def test_what_the_source_says(tmp_path: Path) -> None:
    made = _template(tmp_path, SOURCE)
    types = {name: buffer["type"] for name, buffer in made["buffers"].items()}  # type: ignore[attr-defined]
    assert types == {"in": "f32", "out": "f32", "values": "f64", "mask": "u8"}
    launches = {launch["entry"]: launch for launch in made["launch"]}  # type: ignore[attr-defined]
    assert launches["scale"]["block"] == 64
    assert launches["scale"]["args"] == ["in", "out", 1024, 1.0, {"bytes": " ".join(["00"] * 8)}]
    assert launches["fill"]["args"] == [1.0, "values", "mask"]
    assert "# [symbols.weights]" in (tmp_path / "k.toml").read_text()


def test_a_template_runs_as_it_is(tmp_path: Path) -> None:
    _template(tmp_path, SOURCE)
    assert execute(load_job(tmp_path / "k.ptx")).warp_instructions > 0


def test_textures(tmp_path: Path) -> None:
    """An object and a variable of the PTX each get a buffer to lie in."""
    source = (
        "__global__ void blur(cudaTextureObject_t image, float *out)\n"
        "{ out[threadIdx.x] = tex1Dfetch<float>(image, threadIdx.x); }\n"
    )
    file = tmp_path / "k.cu"
    file.write_text(source)
    ptx = compile_cuda(file).replace(".visible .entry", ".global .texref palette;\n.visible .entry", 1)
    (tmp_path / "k.ptx").write_text(ptx)
    text = launch_template(parse(ptx, "k.ptx"), "k.ptx", source)
    (tmp_path / "k.toml").write_text(text)
    made = tomllib.loads(text)
    assert made["launch"][0]["args"] == ["image", "out"]
    assert {name: table["buffer"] for name, table in made["textures"].items()} == {
        "palette": "palette_data",
        "image": "image_data",
    }
    found = execute(load_job(tmp_path / "k.ptx")).buffers
    assert found["out"][:128].tolist() == found["image_data"][:128].tolist()


def test_without_a_source_the_ptx_tells_the_sizes(tmp_path: Path) -> None:
    made = _template(tmp_path, "")
    launches = {launch["entry"]: launch for launch in made["launch"]}  # type: ignore[attr-defined]
    assert launches["fill"]["args"][1:] == ["p1", "p2"]
    assert execute(load_job(tmp_path / "k.ptx")).warp_instructions > 0
