"""What it means that the emulator and a GPU agree, and the digests that keep what a GPU once said."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpbank.program.launch import Job, Pointer

DIGESTS = Path(__file__).parent / "digests"


@dataclass(frozen=True)
class Bound:
    """How far a float may be from the emulator's.

    Parameters
    ----------
    ulps : that many units in the last place of the largest finite magnitude in the emulator's buffer. Where
        large terms cancel, the result's own last place says nothing about the error, and the largest element
        stands for the terms.
    why : where the difference comes from.
    """

    ulps: int
    why: str


_EXP_LOG = (
    "ex2.approx and lg2.approx (relative 2^-22 or so) in terms of up to 100, one subtracted from the other"
)
_RSQRT = "the cube of rsqrt.approx (relative 2^-22.9), summed over all bodies"
_SINCOS = "sin.approx and cos.approx (absolute 2^-20.5 between -2 pi and 2 pi), summed over all samples"
_DIVISION = "div.approx (2 units in the last place) in every step"
_SIGMOID = (
    "ex2.approx (relative 2^-22) and div.approx (2 units in the last place) in every gate of every step"
)
_TENSOR = (
    "tensor cores align and truncate the products they add, which is not IEEE addition; NVIDIA does not "
    "specify it"
)

#: Buffers that are not compared bit for bit: kernel, buffer, bound. Everything else must agree to the last
#: bit, since add, mul, fma, div.rn, sqrt.rn and conversions are IEEE operations. The bounds were derived from
#: the maximum errors that the PTX manual states for each approximate function and from the references'
#: tolerances.
BOUNDS: dict[str, dict[str, Bound]] = {
    "attention": {"out": Bound(32, "ex2.approx of every score, div.approx by their sum")},
    "blackscholes": {"call": Bound(64, _EXP_LOG), "put": Bound(64, _EXP_LOG)},
    "cfd": {f"state{step}": Bound(32 * step, _DIVISION) for step in range(1, 5)},
    "cholesky": {"solution": Bound(64, _DIVISION)},
    "layernorm": {
        "out": Bound(32, "rsqrt.approx (relative 2^-22.9) of the variance, div.approx for the mean")
    },
    "libor": {"values": Bound(512, "ex2.approx in every step of the rates, times 100 for each swaption")},
    "lstm": {name: Bound(64, _SIGMOID) for name in ("gates", "memory1", "memory2", "state1", "state2")},
    "mma_gemm": {"c_k16": Bound(192, _TENSOR), "c_k8": Bound(192, _TENSOR)},
    "mri_q": {"q_r": Bound(96, _SINCOS), "q_i": Bound(96, _SINCOS)},
    "normalize": {"out": Bound(16, "rsqrt.approx (relative 2^-22.9) of a sum of squares")},
    "nbody": {"acceleration": Bound(32, _RSQRT), "velocity": Bound(16, _RSQRT), "bodies": Bound(16, _RSQRT)},
    "walks": {"pooled": Bound(64, "a sum of 64 ex2.approx (relative 2^-22 each), divided by div.approx")},
}

#: Buffers of the PTX of tests/program/compilers that are not compared bit for bit, by the file's stem.
COMPILERS_BOUNDS: dict[str, dict[str, Bound]] = {
    "triton.layernorm.sm75": {
        "out": Bound(
            32,
            "div.full (2 units in the last place) for mean, variance and reciprocal, sqrt.approx (relative "
            "2^-23), and the roundings of sums of 200 in a tree",
        )
    },
    "triton.softmax.sm75": {
        "out": Bound(
            32,
            "ex2.approx (relative 2^-22) of a score and of each in the sum, div.full (2 units in the last "
            "place) by it, and the roundings of a sum of 100 in a tree",
        )
    },
    # 100 products, and an accumulator for each 16 or 8 of them, may lose a unit each; the emulator rounds
    # once for each accumulator: 120 at most.
    "triton.matmul_f16.sm80": {"out": Bound(128, _TENSOR)},
    "triton.matmul_f32.sm80": {"out": Bound(128, _TENSOR)},
}

_UNPINNED = re.compile(r"(?<![\w.])(add|sub|mul)((?:\.ftz)?(?:\.sat)?\.(?:f16x2|bf16x2|bf16|f16|f32|f64))\b")


def pin_rounding(ptx: str) -> str:
    """The PTX with `.rn` on every float add, sub and mul that names no rounding.

    Without it the driver's compiler may contract a mul and an add into one fma, rounded once; with it they
    are the IEEE operations that the emulator executes. Nothing else changes.
    """
    return _UNPINNED.sub(r"\1.rn\2", ptx)


_VERSION = re.compile(r"^(\s*\.version\s+)(\d+)\.(\d+)", re.MULTILINE)


def newest_ptx(driver: str) -> tuple[int, int]:
    """Version of PTX that a driver of that CUDA version ("12.4") knows, by the PTX manual's table of
    releases; before CUDA 11, a lower one."""
    major, minor = map(int, driver.split("."))
    return major - 4, minor - (major == 12 and minor > 5)


def lower_version(ptx: str, newest: tuple[int, int]) -> str:
    """The PTX with `.version` lowered to the newest that the driver knows.

    Compilers state the version of their release, whatever they use of it. The driver still refuses an
    instruction that the lower version lacks.
    """

    def lowered(found: re.Match[str]) -> str:
        version = min((int(found[2]), int(found[3])), newest)
        return f"{found[1]}{version[0]}.{version[1]}"

    return _VERSION.sub(lowered, ptx, count=1)


def canonical(array: np.ndarray) -> np.ndarray:
    """The array as integers, all NaNs alike: hardware and emulator may carry different payloads, which no
    kernel looks at."""
    if array.dtype.kind != "f":
        return array
    bits = array.view(f"u{array.dtype.itemsize}").copy()
    bits[np.isnan(array)] = np.array(np.nan, array.dtype).view(bits.dtype)
    return bits


def difference(kernel: str, buffer: str, emulated: np.ndarray, found: np.ndarray) -> str:
    """ "" if `found` agrees with the emulator's buffer; otherwise the sentence that says where it does
    not."""
    bound = (BOUNDS | COMPILERS_BOUNDS).get(kernel, {}).get(buffer)
    if bound is None:
        wrong = canonical(emulated) != canonical(found)
        rule = "bit for bit"
    else:
        finite = np.abs(emulated[np.isfinite(emulated)].astype(np.float64))
        step = float(np.spacing(emulated.dtype.type(finite.max()))) if finite.size else 0.0
        with np.errstate(invalid="ignore"):
            apart = np.abs(emulated.astype(np.float64) - found.astype(np.float64)) > bound.ulps * step
        same = (emulated == found) | (np.isnan(emulated) & np.isnan(found))
        wrong = ~same & (apart | ~np.isfinite(emulated) | ~np.isfinite(found))
        rule = f"within {bound.ulps} ulps of the largest element ({bound.ulps * step:.3g})"
    if not wrong.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{kernel}: {int(wrong.sum())} of {wrong.size} elements of buffer {buffer} differ, compared {rule}; "
        f"the first is {list(index)}: GPU {found[index]!r}, emulator {emulated[index]!r}"
    )


def digest(array: np.ndarray) -> str:
    """SHA-256 of a buffer's bytes, NaNs alike."""
    return hashlib.sha256(np.ascontiguousarray(canonical(array)).tobytes()).hexdigest()


def identity(job: Job) -> str:
    """SHA-256 of all that a GPU's answer depends on: a recorded digest is good for this PTX and these inputs
    only."""
    whole = hashlib.sha256()
    parts: list[Any] = [pin_rounding(job.ptx)]
    for group in (job.buffers, job.symbols):
        parts += [
            (name, str(array.dtype), array.shape, digest(array)) for name, array in sorted(group.items())
        ]
    for launch in job.launches:
        args = [
            arg
            if isinstance(arg, str)
            else (arg.buffer, arg.offset)
            if isinstance(arg, Pointer)
            else arg.hex()
            if isinstance(arg, bytes)
            else (str(arg.dtype), arg.tobytes().hex())
            for arg in launch.args
        ]
        parts.append((launch.entry, launch.grid, launch.block, launch.dynamic_shared, args))
    whole.update(json.dumps(parts).encode())
    return whole.hexdigest()


def recordings() -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """What was recorded, by (kernel, size) and then by file stem: {"identity": ..., "buffers": {name:
    sha256}}."""
    found: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for path in sorted(DIGESTS.glob("*.json")):
        for kernel, sizes in json.loads(path.read_text())["kernels"].items():
            for size, entry in sizes.items():
                found.setdefault((kernel, size), {})[path.stem] = entry
    return found
