"""CUDA C compiler to PTX text, with the LLVM that the `ziglang` wheel carries: no CUDA toolkit is needed.

A source includes `warpbank.cuh` (in `workloads/cuda`), which stands in for the toolkit's headers and is
always on the include path. A source that needs another GPU than `DEFAULT_ARCH` says so once, in its first
line: `// arch: sm_80`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from warpbank.program.errors import CompileError

#: The GPU that PTX is made for unless the source or the caller asks for another.
DEFAULT_ARCH = "sm_75"

#: PTX version to write, for GPUs up to sm_90 and for later ones. The older, the more drivers and tools read
#: it; left alone, clang would take the version from whatever CUDA toolkit it finds installed, and without one
#: a version too old for any GPU of today.
_PTX_VERSION, _PTX_VERSION_LATER = "ptx78", "ptx88"

_ARCH_COMMENT = re.compile(r"//\s*arch:\s*(\S+)\s*$")


def source_arch(source: Path) -> str:
    """GPU architecture that a source asks for: its first line's `// arch: sm_NN`, else `DEFAULT_ARCH`."""
    with source.open(encoding="utf-8", errors="replace") as file:
        found = _ARCH_COMMENT.match(file.readline())
    return found.group(1) if found else DEFAULT_ARCH


def compile_cuda(
    source: Path,
    *,
    arch: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    include: Sequence[Path] = (),
) -> str:
    """Compile a CUDA C file to PTX.

    The text depends on the source, the options and the version of the wheel only: it holds no path and no
    date.

    Parameters
    ----------
    source : the .cu file.
    arch : GPU to compile for ("sm_75"); by default what `source_arch` finds.
    defines : preprocessor macros, name to value.
    include : folders to search for headers, after the source's own and before that of `warpbank.cuh`.

    Returns
    -------
    The text of the PTX module.

    Raises
    ------
    CompileError : no such source, no `ziglang` wheel, an architecture that is no `sm_NN`, or a source the
        compiler refuses.
    """
    source = Path(source)
    if not source.is_file():
        raise CompileError(f"there is no CUDA source {source}")
    arch = arch or source_arch(source)
    known = re.fullmatch(r"sm_(\d+)([af]?)", arch)
    if not known:
        raise CompileError(f"{source}: {arch!r} is no GPU architecture; one looks like {DEFAULT_ARCH}")
    version = _PTX_VERSION if int(known[1]) <= 90 and not known[2] else _PTX_VERSION_LATER
    if find_spec("ziglang") is None:
        raise CompileError(
            "compiling CUDA needs the LLVM of the ziglang wheel, which is not installed: pip install "
            "'warpbank[compile]'"
        )

    with as_file(files("warpbank.workloads") / "cuda") as headers:
        command = [
            sys.executable,
            "-m",
            "ziglang",
            "clang",
            "-x",
            "cuda",
            "--cuda-device-only",
            "-nocudainc",
            "-nocudalib",
        ]
        # A fixed host and no toolkit: the output must not depend on the machine, or on what else is installed
        # there.
        command += [
            "--target=x86_64-unknown-linux-gnu",
            f"--cuda-path={os.devnull}",
            f"--cuda-feature=+{version}",
        ]
        command += [f"--cuda-gpu-arch={arch}", "-O3", "-S", "-Wno-unknown-cuda-version"]
        command += [f"-D{name}={value}" for name, value in (defines or {}).items()]
        command += [f"-I{folder}" for folder in (*include, headers)]
        command += ["-o", "-", str(source.absolute())]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = done.stderr.strip() or f"the compiler ended with status {done.returncode} and said nothing"
        raise CompileError(f"{source} does not compile for {arch}:\n{said}")
    return done.stdout
