"""Intrinsics of the device header beside mathematics: bits, atomics, warp functions, conversions, half."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpbank.program.cuda import compile_cuda
from warpbank.program.errors import CompileError
from warpbank.program.launch import Job, Launch, Texture
from warpbank.program.runner import execute

pytestmark = pytest.mark.compile


def _run(
    folder: Path,
    body: str,
    arrays: dict[str, np.ndarray],
    head: str = "",
    arch: str = "sm_75",
    threads: int = 32,
) -> dict[str, np.ndarray]:
    """Final buffers of a kernel with the given body; `i` is the thread."""
    names = {"f4": "float", "f8": "double", "i4": "int", "u4": "unsigned int", "i8": "long long"}
    names |= {"u8": "unsigned long long", "u2": "unsigned short", "f2": "half"}
    parameters = ", ".join(f"{names[a.dtype.str[1:]]} *{name}" for name, a in arrays.items())
    file = folder / "k.cu"
    file.write_text(f'{head}\nextern "C" __global__ void k({parameters}) {{ int i = threadIdx.x; {body} }}\n')
    ptx = compile_cuda(file, arch=arch)
    launch = Launch("k", (1, 1, 1), (threads, 1, 1), tuple(arrays))
    return execute(Job("k", "custom", ptx, "k.ptx", arrays, [launch])).buffers


def _words(seed: int = 1) -> np.ndarray:
    words = np.random.default_rng(seed).integers(0, 1 << 32, 32, np.uint64).astype(np.uint32)
    words[:4] = 0, 1, 0x80000000, 0xFFFFFFFF
    return words


def test_bits(tmp_path: Path) -> None:
    x = _words()
    calls = (
        "__popc(x[i])",
        "__clz(x[i])",
        "__ffs(x[i])",
        "__brev(x[i])",
        "__byte_perm(x[i], ~x[i], 0x7250)",
        "__funnelshift_l(x[i], ~x[i], i)",
        "__funnelshift_r(x[i], ~x[i], i)",
        "__umulhi(x[i], x[31 - i])",
        "__usad(x[i], x[31 - i], 5)",
        "__float_as_uint(__uint_as_float(x[i]))",
    )
    y = np.zeros(32 * len(calls), np.uint32)
    body = " ".join(f"y[{32 * n} + i] = {call};" for n, call in enumerate(calls))
    found = _run(tmp_path, body, {"x": x, "y": y})["y"].reshape(len(calls), 32)
    for i, word in enumerate(map(int, x)):
        pair = (0xFFFFFFFF ^ word) << 32 | word
        last = int(x[31 - i])
        at = [pair >> 8 * (0x7250 >> 4 * n & 7) & 255 for n in range(4)]
        expected = [
            word.bit_count(), 32 - word.bit_length(), (word & -word).bit_length(),
            int(f"{word:032b}"[::-1], 2),
            sum(b << 8 * n for n, b in enumerate(at)), pair << i >> 32 & 0xFFFFFFFF, pair >> i & 0xFFFFFFFF,
            word * last >> 32, abs(word - last) + 5 & 0xFFFFFFFF, word,
        ]  # fmt: skip
        assert found[:, i].tolist() == expected


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("int", np.int32),
        ("unsigned int", np.uint32),
        ("unsigned long long", np.uint64),
        ("long long", np.int64),
    ],
)
def test_atomics_on_integers(kind: str, dtype: type, tmp_path: Path) -> None:
    x = np.random.default_rng(2).integers(0, 1000, 32).astype(dtype)
    if np.issubdtype(dtype, np.signedinteger):
        x -= 500
    names = ("Add", "Sub", "Min", "Max", "And", "Or", "Xor")
    start = np.array([7, 7, 2, 2, 0x3FF, 0, 0, 5, 0, 0], dtype)
    body = " ".join(f"atomic{name}(&y[{n}], x[i]);" for n, name in enumerate(names))
    body += " if (i == 0) { y[8] = atomicExch(&y[7], x[3]); atomicCAS(&y[9], ({0})0, x[4]); ".replace(
        "{0}", kind
    )
    body += "atomicCAS(&y[9], x[4] + 1, x[5]); atomicAdd_system(&y[8], 1); }"
    y = _run(tmp_path, body, {"x": x, "y": start})["y"]
    reduced = [
        7 + x.sum(), 7 - x.sum(), min(2, x.min()), max(2, x.max()),
        np.bitwise_and.reduce(x) & dtype(0x3FF), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x),
        x[3], 6, x[4],
    ]  # fmt: skip
    assert y.tolist() == np.array(reduced, dtype).tolist()


def test_atomics_on_floats_and_wrapping_counters(tmp_path: Path) -> None:
    body = "atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicInc(u, 9); atomicDec(u + 1, 9); "
    body += "atomicAdd(h, __float2half(1.0f)); atomicExch(f + 1, 3.0f);"
    arrays = {
        "f": np.zeros(2, np.float32),
        "d": np.zeros(1),
        "u": np.zeros(2, np.uint32),
        "h": np.zeros(2, np.float16),
    }
    done = _run(tmp_path, body, arrays, "#include <cuda_fp16.h>")
    assert done["f"].tolist() == [16, 3]
    assert done["d"].tolist() == [8]
    assert done["u"].tolist() == [32 % 10, (-32) % 10]
    assert done["h"].tolist() == [32, 0]


def test_shuffles_and_votes(tmp_path: Path) -> None:
    x = np.random.default_rng(3).random(32)
    calls = (
        "__shfl_sync(~0u, x[i], 5)",
        "__shfl_up_sync(~0u, x[i], 3)",
        "__shfl_down_sync(~0u, x[i], 3)",
        "__shfl_xor_sync(~0u, x[i], 6)",
        "__shfl_sync(~0u, x[i], 2, 8)",
        "__all_sync(~0u, i < 40) + 2 * __any_sync(~0u, i == 7) + 4 * __all_sync(~0u, i < 3)",
        "__ballot_sync(~0u, i % 3 == 0)",
        "__match_any_sync(~0u, i / 4)",
        "__syncthreads_count(i % 5 == 0)",
        "__syncthreads_and(i < 31) + 2 * __syncthreads_or(i == 3)",
        "__activemask()",
    )
    body = " ".join(f"y[{32 * n} + i] = {call};" for n, call in enumerate(calls))
    found = _run(tmp_path, body, {"x": x, "y": np.zeros(32 * len(calls))})["y"].reshape(len(calls), 32)
    lane = np.arange(32)
    expected = [
        np.full(32, x[5]), x[np.where(lane >= 3, lane - 3, lane)], x[np.where(lane < 29, lane + 3, lane)],
        x[lane ^ 6], x[lane // 8 * 8 + 2], np.full(32, 3), np.full(32, sum(1 << i for i in range(0, 32, 3))),
        15 << (lane // 4 * 4), np.full(32, 7), np.full(32, 2), np.full(32, 0xFFFFFFFF),
    ]  # fmt: skip
    assert np.array_equal(found, np.array(expected, np.float64))


def test_conversions_round_as_their_names_say(tmp_path: Path) -> None:
    x = np.array([0.5, 1.5, -0.5, -1.5, 2.7, -2.7, 1e10, -3.0] * 4, np.float32)
    calls = ("__float2int_rn(x[i])", "__float2int_rz(x[i])", "__float2int_rd(x[i])", "__float2int_ru(x[i])")
    body = " ".join(f"y[{32 * n} + i] = {call};" for n, call in enumerate(calls))
    found = _run(tmp_path, body, {"x": x, "y": np.zeros(128, np.int32)})["y"].reshape(4, 32)
    wide = x.astype(np.float64)
    for row, rounded in zip(found, (np.rint, np.trunc, np.floor, np.ceil), strict=True):
        assert np.array_equal(row, np.clip(rounded(wide), -(2**31), 2**31 - 1).astype(np.int32))


def test_rounded_arithmetic_brackets_the_exact_result(tmp_path: Path) -> None:
    x = np.random.default_rng(4).random(32).astype(np.float32)
    body = "y[i] = __fadd_rd(x[i], x[31 - i]); y[32 + i] = __fadd_ru(x[i], x[31 - i]); "
    body += "y[64 + i] = __fmul_rz(x[i], x[31 - i]); y[96 + i] = __fdiv_rn(x[i], x[31 - i]);"
    found = _run(tmp_path, body, {"x": x, "y": np.zeros(128, np.float32)})["y"]
    low, high, product, quotient = found.reshape(4, 32)
    exact = x.astype(np.float64) + x[::-1]
    assert np.all((low <= exact) & (exact <= high))
    assert np.all(high - low <= np.spacing(high))
    assert np.all(product <= x.astype(np.float64) * x[::-1])
    assert np.array_equal(quotient, x / x[::-1])


def test_half_arithmetic_is_rounded_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    x, y, z = (rng.normal(0, 4, 32).astype(np.float16) for _ in range(3))
    calls = (
        "x[i] + y[i]",
        "x[i] - y[i]",
        "x[i] * y[i]",
        "x[i] / y[i]",
        "__hfma(x[i], y[i], z[i])",
        "__hneg(x[i])",
        "__float2half_rd(0.1f * i)",
        "__float2half_ru(0.1f * i)",
        "hsqrt(__habs(x[i]))",
    )
    body = " ".join(f"out[{32 * n} + i] = {call};" for n, call in enumerate(calls))
    arrays = {"x": x, "y": y, "z": z, "out": np.zeros(32 * len(calls), np.float16)}
    found = _run(tmp_path, body, arrays, "#include <cuda_fp16.h>")["out"].reshape(len(calls), 32)
    a, b, c = (v.astype(np.float64) for v in (x, y, z))
    tenths = (np.float32(0.1) * np.arange(32, dtype=np.float32)).astype(np.float64)
    for row, exact in enumerate((a + b, a - b, a * b, a / b, a * b + c, -a)):
        assert np.array_equal(found[row], exact.astype(np.float16)), calls[row]
    assert np.all(found[6].astype(np.float64) <= tenths)
    assert np.all(found[7].astype(np.float64) >= tenths)
    assert np.array_equal(found[8], np.sqrt(abs(a)).astype(np.float16))


def test_vectors_and_indices(tmp_path: Path) -> None:
    body = (
        "float4 v = make_float4(1, 2, 3, 4); uchar4 c = make_uchar4(1, 2, 3, 4); "
        "double2 d = make_double2(5, 6); "
        "dim3 b = blockDim; uint3 t = threadIdx; "
        "y[i] = v.x + 10 * c.w + 100 * d.y + sizeof(float3) + alignof(float4) + alignof(double4) "
        "+ b.x * b.y + t.x "
        "+ gridDim.x + blockIdx.z + warpSize;"
    )
    found = _run(tmp_path, body, {"y": np.zeros(32, np.int32)})["y"]
    assert found.tolist() == [1 + 40 + 600 + 12 + 16 + 16 + 32 + i + 1 + 32 for i in range(32)]


def test_reductions_of_a_warp(tmp_path: Path) -> None:
    x = _words(7)
    calls = (
        "__reduce_add_sync(~0u, x[i])",
        "__reduce_max_sync(~0u, x[i])",
        "__reduce_min_sync(~0u, (int)x[i])",
        "__reduce_xor_sync(~0u, x[i])",
    )
    body = " ".join(f"y[{n}] = {call};" for n, call in enumerate(calls))
    found = _run(tmp_path, body, {"x": x, "y": np.zeros(4, np.uint32)}, arch="sm_80")["y"]
    total = int(x.sum(dtype=np.uint64)) & 0xFFFFFFFF
    assert found.tolist() == [
        total,
        x.max(),
        x.view(np.int32).min().astype(np.int64) & 0xFFFFFFFF,
        np.bitwise_xor.reduce(x),
    ]

    least = int(x.view(np.int32).min()) & 0xFFFFFFFF
    assert found.tolist() == [total, x.max(), least, np.bitwise_xor.reduce(x)]


def test_textures_of_every_type(tmp_path: Path) -> None:
    """Each type of texel through each function, on texels whose elements are their own places."""
    kinds = {
        "char": ("i1", 1), "signed char": ("i1", 1), "unsigned char": ("u1", 1), "short": ("i2", 1),
        "unsigned short": ("u2", 1), "int": ("i4", 1), "unsigned int": ("u4", 1), "float": ("f4", 1),
        "char4": ("i1", 4), "uchar2": ("u1", 2), "short4": ("i2", 4), "ushort1": ("u2", 1), "int2": ("i4", 2),
        "uint4": ("u4", 4), "float2": ("f4", 2), "float4": ("f4", 4),
    }  # fmt: skip
    lines, buffers, textures, wanted = [], {"y": np.zeros((2 * len(kinds), 32), np.float32)}, {}, []
    for n, (kind, (dtype, channels)) in enumerate(kinds.items()):
        data = (np.arange(64 * channels) % 100).astype(dtype)
        buffers[f"d{n}"] = data
        textures[f"f{n}"] = Texture(f"d{n}", data.dtype, channels, 64)
        width = 8 * channels * data.itemsize
        textures[f"g{n}"] = Texture(f"d{n}", data.dtype, channels, 8, 8, width)
        last = ("", ".x", ".y", "", ".w")[channels] if kind[-1].isdigit() else ""
        fetch = f"tex1Dfetch<{kind}>(f{n}, i){last}" if n % 2 else f"tex1D<{kind}>(f{n}, i + 0.5f){last}"
        lines.append(f"y[{64 * n} + i] = {fetch};")
        lines.append(f"{kind} v{n}; tex2D(&v{n}, g{n}, i % 8 + 0.5f, i / 8 + 0.5f);")
        lines.append(f"y[{64 * n + 32} + i] = v{n}{last};")
        wanted += 2 * [data.reshape(64, channels)[:32, -1].astype(np.float32)]
    names = list(textures)
    parameters = ", ".join(["float *y", *(f"cudaTextureObject_t {name}" for name in names)])
    file = tmp_path / "k.cu"
    body = " ".join(lines)
    file.write_text(f'extern "C" __global__ void k({parameters}) {{ int i = threadIdx.x; {body} }}\n')
    launch = Launch("k", (1, 1, 1), (32, 1, 1), ("y", *names))
    job = Job("k", "custom", compile_cuda(file), "k.ptx", buffers, [launch], textures=textures)
    np.testing.assert_array_equal(execute(job).buffers["y"], np.stack(wanted))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("*y = tex3D<float>(t, 1, 2, 3);", "lay the slices out as rows of a 2D texture"),
        ("*y = tex2DLod<float>(t, 1, 2, 3);", "bind each level of detail as a texture of its own"),
        ("*y = tex1Dfetch<double>(t, 1);", "1, 2 or 4 elements of at most 32 bits"),
        ("*y = surf2Dread<float>(t, 1, 2);", "pass a pointer to global memory"),
        ("surf2Dwrite(1.0f, t, 1, 2);", "pass a pointer to global memory"),
    ],
)
def test_what_no_linear_memory_has(code: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(f"__global__ void k(float *y, cudaTextureObject_t t) {{ {code} }}\n")
    with pytest.raises(CompileError, match=message):
        compile_cuda(file)
