"""Maker of the PTX in `data/`: `python tests/program/compilers/make.py [triton] [numba]`.

Both compilers work without a GPU. An environment of their own serves: they need nothing of ours.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).parent / "data"
#: Bytes of shared memory that a launch of Triton's PTX must give a CTA, by the file's stem.
SHARED = DATA / "shared_memory.json"
#: Warps of a CTA of Triton's kernels.
WARPS = 4
#: GPUs, as compute capabilities; the later one where Triton has tensor instructions for it alone.
EARLY, LATE = 75, 80

_I32 = "i32"
_TILES = {"M": 32, "N": 32, "K": 32}


def _matmul(element: str) -> dict[str, str]:
    return {"a": f"*{element}", "b": f"*{element}", "out": "*fp32", "m": _I32, "n": _I32, "k": _I32}


#: Triton's: name of the file, kernel, types of the arguments, constants, GPUs.
TRITON: list[tuple[str, str, dict[str, str], dict[str, int], tuple[int, ...]]] = [
    (
        "vector_add",
        "vector_add",
        {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": _I32},
        {"BLOCK": 256},
        (EARLY,),
    ),
    ("softmax", "softmax", {"x": "*fp32", "out": "*fp32", "columns": _I32}, {"BLOCK": 128}, (EARLY,)),
    (
        "layernorm",
        "layernorm",
        {**dict.fromkeys(("x", "weight", "bias", "out"), "*fp32"), "columns": _I32, "epsilon": "fp32"},
        {"BLOCK": 256},
        (EARLY,),
    ),
    ("matmul_f16", "matmul", _matmul("fp16"), _TILES, (EARLY, LATE)),
    ("matmul_f32", "matmul", _matmul("fp32"), _TILES, (EARLY, LATE)),
    ("histogram", "histogram", {"x": "*i32", "out": "*i32", "n": _I32}, {"BLOCK": 256}, (EARLY,)),
    ("scan", "scan", {"x": "*i32", "out": "*i32", "columns": _I32}, {"BLOCK": 256}, (EARLY,)),
    ("bitonic_sort", "bitonic_sort", {"x": "*i32", "out": "*i32"}, {"COLUMNS": 128}, (EARLY,)),
]


def _stop(what: str, package: str, error: ImportError) -> None:
    sys.exit(f"{what} is not installed ({error}): pip install {package}, or name the other compiler alone.")


def make_triton() -> None:
    """Compile Triton's kernels, without line numbers, past Triton's cache."""
    try:
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError as error:
        _stop("Triton", "triton==3.9.0", error)
    import triton_kernels

    triton.knobs.compilation.disable_line_info = True
    options = {"num_warps": WARPS, "enable_fp_fusion": True}
    shared = {}
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        for name, kernel, types, constants, gpus in TRITON:
            source = ASTSource(
                fn=getattr(triton_kernels, kernel),
                signature={**types, **dict.fromkeys(constants, "constexpr")},
                constexprs=constants,
            )
            for gpu in gpus:
                made = triton.compile(source, target=GPUTarget("cuda", gpu, 32), options=options)
                stem = f"triton.{name}.sm{gpu}"
                (DATA / f"{stem}.ptx").write_text(made.asm["ptx"])
                shared[stem] = made.metadata.shared
    SHARED.write_text(json.dumps(shared, indent=1, sort_keys=True) + "\n")


def make_numba() -> None:
    """Compile Numba's kernels, optimised and not."""
    try:
        import numba_cuda  # noqa: F401  (without it, numba.cuda is Numba's own, older one)
        from numba.cuda import compile_ptx
        from numba.cuda import types as t
    except ImportError as error:
        _stop("Numba-CUDA", '"numba-cuda[cu13]==0.30.4"', error)
    import numba_kernels

    floats, ints = (t.Array(element, 1, "C") for element in (t.float32, t.int32))
    matrix, image = (t.Array(element, 2, "C") for element in (t.float32, t.int32))
    signatures = {
        "vector_add": (floats, floats, floats),
        "matmul": (matrix, matrix, matrix),
        "mandelbrot": (image, t.int32, t.int32, t.int32),
        "warp_sum": (ints, ints),
    }
    for name, signature in signatures.items():
        for level, optimised in (("O3", True), ("O0", False)):
            ptx, _ = compile_ptx(
                getattr(numba_kernels, name), signature, cc=divmod(EARLY, 10), opt=optimised, device=False
            )
            (DATA / f"numba.{name}.{level}.ptx").write_text(ptx)


MAKERS = {"triton": make_triton, "numba": make_numba}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(MAKERS)
    if unknown := set(wanted) - MAKERS.keys():
        sys.exit(f"{', '.join(sorted(unknown))}: the compilers are {' and '.join(MAKERS)}.")
    for compiler in wanted:
        MAKERS[compiler]()
