"""CUDA C++ compiler to PTX text, with the LLVM that the `ziglang` wheel carries: no CUDA toolkit is needed.

The device header in `include/warpbank` is included before the source, and `include` holds stand-ins for the
toolkit's headers. Those of C and C++ are the wheel's own (musl and libc++). Host code is parsed and dropped;
a host function that does not parse is emptied, with a note (`hostcode.py`).

A source that needs another GPU than `DEFAULT_ARCH` says so once, in its first line: `// arch: sm_80`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from warpbank.program.cuda.hostcode import HOST_LIBRARIES, Failure, emptied, failures
from warpbank.program.errors import CompileError

#: The GPU that PTX is made for unless the source or the caller asks for another.
DEFAULT_ARCH = "sm_75"

#: Dialects of C++ that the headers of the wheel can be read in.
STANDARDS = tuple(f"{dialect}{year}" for dialect in ("c++", "gnu++") for year in (14, 17, 20, 23))

#: What `-O` may say.
LEVELS = ("0", "1", "2", "3", "s")

#: PTX version to write, for GPUs up to sm_90 and for later ones. The older, the more drivers and tools read
#: it; left alone, clang would take the version from whatever CUDA toolkit it finds installed, and without one
#: a version too old for any GPU of today.
_PTX_VERSION, _PTX_VERSION_LATER = "ptx78", "ptx88"

_ARCH_COMMENT = re.compile(r"//\s*arch:\s*(\S+)\s*$")

#: A fixed host: the output must not depend on the machine.
_HOST = "x86_64-unknown-linux-musl"

#: What the zig compiler says to its libc++, in the place of a configuration header.
_LIBCXX = (
    "_LIBCPP_ABI_NAMESPACE=__1",
    "_LIBCPP_ABI_VERSION=1",
    "_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
    "_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
    "_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "_LIBCPP_HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE",
    "_LIBCPP_HAS_FILESYSTEM=1",
    "_LIBCPP_HAS_LOCALIZATION",
    "_LIBCPP_HAS_MONOTONIC_CLOCK",
    "_LIBCPP_HAS_MUSL_LIBC=1",
    "_LIBCPP_HAS_RANDOM_DEVICE",
    "_LIBCPP_HAS_TERMINAL",
    "_LIBCPP_HAS_THREADS=1",
    "_LIBCPP_HAS_TIME_ZONE_DATABASE",
    "_LIBCPP_HAS_UNICODE",
    "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0",
    "_LIBCPP_HAS_WIDE_CHARACTERS",
    "_LIBCPP_PSTL_BACKEND_SERIAL",
)

#: A variable of a module that only its own functions see: LLVM would take it for one that nobody fills.
_PRIVATE_VARIABLE = re.compile(
    r"^(@\S+ = )internal (?!.*unnamed_addr)(.*?addrspace\([14]\) )(constant |global )", re.M
)

#: What a source has that has such a variable.
_PRIVATE = re.compile(r"\bstatic\b|\bnamespace\s*\{")

#: Notes of one source, and lines of what the compiler says about one that it refuses.
_MOST_NOTES, _MOST_LINES = 20, 40
_WARNING = re.compile(r"^(.+?):(\d+):\d+: warning: (.*?)(?: \[-W[^\]]*\])?$")


@dataclass(frozen=True)
class Compiled:
    """PTX of a source, and what the user should know about it.

    Parameters
    ----------
    ptx : text of the module.
    notes : a sentence each: warnings of the compiler, and what was left out.
    """

    ptx: str
    notes: tuple[str, ...]


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
    standard: str = "gnu++17",
    optimize: str = "3",
) -> str:
    """Compile a CUDA C++ file to the text of a PTX module.

    `compile_source` has the parameters and errors, and gives the notes as well.
    """
    return compile_source(
        source, arch=arch, defines=defines, include=include, standard=standard, optimize=optimize
    ).ptx


def compile_source(
    source: Path,
    *,
    arch: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    include: Sequence[Path] = (),
    standard: str = "gnu++17",
    optimize: str = "3",
) -> Compiled:
    """Compile a CUDA C++ file to PTX.

    The text depends on the source, the options and the version of the wheel only: it holds no path and no
    date.

    Parameters
    ----------
    source : the .cu file.
    arch : GPU to compile for ("sm_75"); by default what `source_arch` finds.
    defines : preprocessor macros, name to value.
    include : folders to search for headers, after the source's own and before those of this package.
    standard : dialect of C++, one of `STANDARDS`.
    optimize : level of optimization, one of `LEVELS`.

    Raises
    ------
    CompileError : no such source or folder, no `ziglang` wheel, an architecture that is no `sm_NN`, another
        dialect or level, or a source the compiler refuses.
    """
    source = Path(source)
    if not os.path.isfile(source):
        raise CompileError(f"there is no CUDA source {source}")
    for folder in include:
        if not os.path.isdir(folder):
            raise CompileError(f"there is no folder {folder} to look for headers in")
    arch = arch or source_arch(source)
    known = re.fullmatch(r"sm_(\d+)([af]?)", arch)
    if not known:
        raise CompileError(f"{source}: {arch!r} is no GPU architecture; one looks like {DEFAULT_ARCH}")
    if standard not in STANDARDS:
        raise CompileError(f"{standard!r} is no dialect of C++ known here; they are {', '.join(STANDARDS)}")
    if optimize not in LEVELS:
        raise CompileError(f"{optimize!r} is no level of optimization; they are {', '.join(LEVELS)}")
    version = _PTX_VERSION if int(known[1]) <= 90 and not known[2] else _PTX_VERSION_LATER

    with ExitStack() as stack:
        headers = stack.enter_context(as_file(files("warpbank.program.cuda") / "include"))
        workloads = stack.enter_context(as_file(files("warpbank.workloads") / "cuda"))
        work = Path(stack.enter_context(TemporaryDirectory(prefix="warpbank-")))
        options = ["--cuda-device-only", f"--cuda-feature=+{version}", f"--cuda-gpu-arch={arch}"]
        options += [f"-O{optimize}", f"-std={standard}", *language_options(headers)]
        # Macros of the user's come behind the device header, whose names they must not replace, and before
        # `assert`, which NDEBUG takes away.
        macros = work / "macros.h"
        defined = "".join(f"#define {name} {value}\n" for name, value in (defines or {}).items())
        macros.write_text(f"{defined}#include <assert.h>\n", encoding="utf-8")
        options += ["-include", str(macros)]
        options += [f"-I{folder}" for folder in (*include, workloads)]
        front = _Front(source, arch, options, work)
        ptx = front.run("-S")
        if front.may_hide_variables():
            # Passes come after the variables have been made visible.
            private = front.run("-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes")
            visible = _PRIVATE_VARIABLE.sub(r"\1dso_local \2externally_initialized \3", private)
            if visible != private:
                ptx = _back_end(visible, source, arch, version, optimize, work)
    notes = front.notes
    if ".entry" not in ptx:
        notes.append(f"{source} has no kernel: a `__global__` function, and if it is a template, a launch")
    return Compiled(ptx, tuple(notes))


def _back_end(module: str, source: Path, arch: str, version: str, optimize: str, work: Path) -> str:
    """PTX of a module of LLVM."""
    file = work / "module.ll"
    file.write_text(module, encoding="utf-8")
    options = ["-x", "ir", "--target=nvptx64-nvidia-cuda", f"-march={arch}", f"--cuda-feature=+{version}"]
    options += ["-nogpulib", f"--cuda-path={os.devnull}", "-Wno-unknown-cuda-version"]
    options += ["-Wno-unused-command-line-argument", f"-O{optimize}", "-S", "-o", "-", str(file)]
    done = clang(options)
    if done.returncode:
        raise CompileError(f"{source} does not compile for {arch}:\n{_said(done)}")
    return done.stdout


class _Front:
    """Compiler of a source, which tries again without host code that it cannot read.

    Parameters
    ----------
    source : the .cu file.
    arch : GPU, for messages.
    options : of the compiler, but for the input.
    work : a folder for files that stand in for others.
    """

    def __init__(self, source: Path, arch: str, options: list[str], work: Path) -> None:
        self.source, self.arch, self.options = source, arch, options
        self.notes: list[str] = []
        self.text: str | None = None  # of the source without some host functions
        self.dependences = work / "dependences"
        self.stand_ins = work / "include"
        self.stand_ins.mkdir()
        options += ["-idirafter", str(self.stand_ins)]

    def run(self, *output: str) -> str:
        """Output of the compiler for the source.

        Parameters
        ----------
        output : options that say what it should make.
        """
        while True:
            done = self._clang(output)
            if not done.returncode:
                break
            problems = failures(done.stderr, self.source)
            if not self._without_library(problems) and not self._without_functions(problems):
                raise CompileError(f"{self.source} does not compile for {self.arch}:\n{_said(done)}")
        for line in done.stderr.splitlines():
            warning = _WARNING.match(line)
            if warning and len(self.notes) < _MOST_NOTES:
                note = f"{warning[1]}:{warning[2]}: {warning[3]}"
                if note not in self.notes:
                    self.notes.append(note)
        return done.stdout

    def may_hide_variables(self) -> bool:
        """Whether the source or a header of the user's could have variables of internal linkage."""
        listed = self.dependences.read_text(encoding="utf-8").replace("\\\n", " ").partition(":")[2].split()
        return any(
            _PRIVATE.search(Path(file).read_text(encoding="utf-8", errors="replace"))
            for file in {*listed, str(self.source)}
            if Path(file).is_file()
        )

    def _clang(self, output: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        options = [*self.options, *output, "-MMD", "-MF", str(self.dependences), "-o", "-"]
        path = str(self.source)
        if self.text is None:
            return clang([*options, path if not path.startswith("-") else f"./{path}"])
        # From its own folder a source finds its headers; from standard input it has to be told.
        options += ["-Wno-return-type", "-iquote", str(self.source.parent)]
        return clang([*options, "-"], f'# 1 "{path}"\n{self.text}')

    def _without_library(self, problems: list[Failure]) -> bool:
        """Give an empty header for a library of the host."""
        for problem in problems:
            found = re.fullmatch(r"'(.*)' file not found", problem.message)
            if found and re.match(HOST_LIBRARIES, found[1]) and ".." not in found[1]:
                file = self.stand_ins / found[1]
                if file.exists():
                    return False
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("")
                self.notes.append(f"{problem.path}:{problem.line}: {found[1]} is not here and taken as empty")
                return True
        return False

    def _without_functions(self, problems: list[Failure]) -> bool:
        """Empty the host functions that have errors, if all errors of the source are in such functions."""
        before = self.text
        if before is None:
            before = self.source.read_text(encoding="utf-8", errors="replace")
        mine = [p for p in problems if p.mine]
        if not mine or len(mine) < len(problems):
            return False
        after, left_out = emptied(before, [p.line for p in mine])
        if after is None:
            return False
        for function in left_out:
            first = next(p for p in mine if function.first <= p.line <= function.last)
            note = f"{self.source}:{function.first}: the host function {function.name} is left out; "
            if not any(known.startswith(note) for known in self.notes):
                self.notes.append(f"{note}line {first.line}: {first.message}")
        self.text = after
        return True


def language_options(headers: Path) -> list[str]:
    """Options of clang that make CUDA C++ of a source, whichever side of it is compiled.

    Parameters
    ----------
    headers : folder of the stand-ins for the toolkit's headers.

    Raises
    ------
    CompileError : the `ziglang` wheel is not installed.
    """
    zig = _wheel() / "lib"
    # No toolkit: the output must not depend on what else is installed.
    options = ["-x", "cuda", "-nocudainc", "-nocudalib", f"--target={_HOST}", f"--cuda-path={os.devnull}"]
    options += ["-Wno-unknown-cuda-version", "-nostdinc", "-nostdinc++", "-ferror-limit=0"]
    options += [f"-D{define}" for define in _LIBCXX]
    for folder in (
        headers,
        zig / "libcxx" / "include",
        zig / "libcxxabi" / "include",
        zig / "include",
        *(zig / "libc" / "include" / name for name in ("x86_64-linux-musl", "generic-musl")),
        *(zig / "libc" / "include" / name for name in ("x86-linux-any", "any-linux-any")),
    ):
        options += ["-isystem", str(folder)]
    return [*options, "-include", "warpbank/device.h"]


def clang(arguments: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the wheel's clang.

    Parameters
    ----------
    arguments : its command line.
    text : what it reads from standard input; nothing by default.

    Raises
    ------
    CompileError : the `ziglang` wheel is not installed.
    """
    _wheel()
    command = [sys.executable, "-m", "ziglang", "clang", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=text or "", encoding="utf-8")


def _wheel() -> Path:
    """Folder of the `ziglang` package."""
    spec = find_spec("ziglang")
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise CompileError(
            "compiling CUDA needs the LLVM of the ziglang wheel, which is not installed: pip install "
            "'warpbank[compile]'"
        )
    return Path(places[0])


def _said(done: subprocess.CompletedProcess[str]) -> str:
    """Message of the compiler, or its beginning."""
    lines = done.stderr.strip().splitlines()
    if not lines:
        return f"the compiler ended with status {done.returncode} and said nothing"
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} more lines"]
    return "\n".join(lines)
