"""CUDA programs run whole: host code by the processor, kernels by the emulator.

The host side of a source is compiled by the wheel's clang, linked with a small CUDA runtime
(`host_runtime.cpp`), and loaded into this process. A launch there calls back here, where the emulator runs
the kernel's PTX on the device memory as it is. So what a program compares, in its own `main`, is device code
and host code of one source.
"""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import sys
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from warpbank.program.cuda.compiler import clang, compile_source, language_options
from warpbank.program.launch import Border, Job, Launch, Texture
from warpbank.program.ptx.parser import parse
from warpbank.program.runner import execute
from warpbank.program.textures import handle

RUNTIME = Path(__file__).with_name("host_runtime.cpp")
GLOBAL_BASE = 0x10_0000_0000

#: Addressing modes of CUDA; without normalized coordinates, wrapping is clamping.
BORDERS = (Border.CLAMP, Border.CLAMP, Border.CLAMP, Border.ZERO)

_LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_ubyte),
    ctypes.c_uint64,
)


class Program:
    """A CUDA source, compiled for both sides.

    Parameters
    ----------
    source : the .cu file.
    folder : where the parts that are made go.
    arch : GPU, by default what the source says.
    """

    def __init__(self, source: Path, folder: Path, arch: str | None = None) -> None:
        compiled = compile_source(source, arch=arch)
        self.ptx, self.notes = compiled.ptx, compiled.notes
        self.module = parse(self.ptx, source.with_suffix(".ptx").name)
        self.launches: list[str] = []
        self.failure: Exception | None = None
        self.library = ctypes.CDLL(str(_build(source, folder)))
        self.library.warpbank_block.restype = ctypes.c_uint64
        self.library.warpbank_variable.restype = ctypes.c_char_p
        for name, (host, size) in self._variables().items():
            placed = self.module.variables.get(name)
            if placed is not None and placed.init is not None:
                ctypes.memmove(host, placed.init.ljust(size, b"\0"), size)

    def run(self) -> int:
        """Call `main`; returns its status. A kernel that goes wrong raises its error."""
        callback = _LAUNCH(self._launch)
        ctypes.c_void_p.in_dll(self.library, "warpbank_on_launch").value = ctypes.cast(
            callback, ctypes.c_void_p
        ).value
        status = int(self.library.warpbank_run())
        if self.failure is not None:
            raise self.failure
        return status

    def _launch(self, name: bytes, dims: object, shared: int, arguments: object, length: int) -> int:
        try:
            self._emulate(name.decode(), list(dims[:6]), shared, bytes(arguments[:length]))  # type: ignore[index]
        except Exception as error:  # must not pass through the C++ code between
            self.failure = error
            return 719
        return 0

    def _emulate(self, name: str, dims: list[int], shared: int, arguments: bytes) -> None:
        """Run one launch on the device memory and the variables that the program has."""
        library = self.library
        self.launches.append(name)
        blocks: dict[str, tuple[int, int]] = {}
        for i in range(library.warpbank_blocks()):
            size = ctypes.c_uint64()
            start = library.warpbank_block(i, ctypes.byref(size))
            blocks[f"b{i}"] = (start, size.value)
        variables = self._variables()
        buffers = {
            key: np.frombuffer(ctypes.string_at(start, size), np.uint8).copy()
            for key, (start, size) in blocks.items()
        }
        placed = {v.name for v in self.module.variables.values() if v.space in ("const", "global")}
        symbols = {
            key: np.frombuffer(ctypes.string_at(start, size), np.uint8).copy()
            for key, (start, size) in variables.items()
            if key in placed and key in self._used(name)
        }
        kernel = self.module.functions[name]
        passed: list[bytes | str] = []
        at = 0
        for parameter in kernel.parameters:
            at = -(-at // parameter.align) * parameter.align
            passed.append(arguments[at : at + parameter.size])
            at += parameter.size
        textures = self._textures(blocks)
        for i, argument in enumerate(passed):
            number = int.from_bytes(argument, "little") if len(argument) == 8 else 0
            passed[i] = next((t for t in textures if handle(textures, t) == number), argument)
        grid, block = tuple(dims[:3]), tuple(dims[3:])
        launch = Launch(name, grid, block, tuple(passed), shared)  # type: ignore[arg-type]
        job = Job("program", "custom", self.ptx, "program.ptx", buffers, [launch], {}, symbols, textures)
        done = execute(job)
        for key, content in done.buffers.items():
            ctypes.memmove(blocks[key][0], content.tobytes(), content.nbytes)
        for key, changed in done.variables.items():
            if key in variables:
                ctypes.memmove(variables[key][0], changed, variables[key][1])

    def _textures(self, blocks: dict[str, tuple[int, int]]) -> dict[str, Texture]:
        """The texture objects that the program has made, on the blocks they lie in."""
        found = {}
        for i in range(self.library.warpbank_textures()):
            numbers = (ctypes.c_uint64 * 12)()
            self.library.warpbank_texture(i, numbers)
            data, bits, channels, kind, width, height, pitch, x, y, filtering, read, normalized = numbers
            assert not filtering, "linear filtering"
            block = next(key for key, (start, size) in blocks.items() if start <= data < start + size)
            dtype = np.dtype(f"{'iuf'[kind]}{bits // 8}")
            borders = (BORDERS[x], BORDERS[y]) if height else (Border.ZERO, Border.ZERO)
            found[f"t{i}"] = Texture(
                block,
                dtype,
                channels,
                width if height else width // (dtype.itemsize * channels),
                height,
                pitch,
                data - blocks[block][0],
                borders,
                bool(normalized),
                bool(read),
            )
        return found

    def _variables(self) -> dict[str, tuple[int, int]]:
        """Address and size of the host's copy of every variable of the device, by its name in the PTX."""
        found = {}
        for i in range(self.library.warpbank_variables()):
            host, size = ctypes.c_void_p(), ctypes.c_uint64()
            name = self.library.warpbank_variable(i, ctypes.byref(host), ctypes.byref(size)).decode()
            found[name] = (host.value or 0, size.value)
        return found

    def _used(self, name: str) -> set[str]:
        """Variables that the kernel's own text names: a job may fill no others."""
        text = self.ptx.partition(f".entry {name}(")[2].partition("\n}\n")[0]
        return {v for v in self.module.variables if v in text}


def _build(source: Path, folder: Path) -> Path:
    """The program as a shared library. Its name differs from source to source: one is loaded once."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    fat = folder / "no.fatbin"
    fat.write_bytes(b"none")
    host, runtime, library = folder / f"{stem}.o", folder / "runtime.o", folder / f"{stem}.so"
    with as_file(files("warpbank.program.cuda") / "include") as headers:
        options = language_options(headers)
    common = ["-O1", "-fPIC", "-fno-exceptions", "-fno-rtti", "-mf16c", "-ffp-contract=off", "-c"]
    side = ["--cuda-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat), "-std=gnu++17"]
    _done(clang([*options, *side, *common, "-o", str(host), str(source)]))
    plain = [o for o in options if o not in ("-nocudainc", "-nocudalib")]
    plain = plain[plain.index("-nostdinc") : plain.index("-include")]
    target = "--target=x86_64-unknown-linux-musl"
    _done(clang(["-x", "c++", target, *plain, *common, "-o", str(runtime), str(RUNTIME)]))
    assert find_spec("ziglang") is not None
    link = [sys.executable, "-m", "ziglang", "ld.lld", "-shared", "-Bsymbolic", "-o", str(library)]
    _done(subprocess.run([*link, str(host), str(runtime)], capture_output=True, text=True))
    return library


def _done(step: subprocess.CompletedProcess[str]) -> None:
    assert step.returncode == 0, step.stderr
