"""CUDA C++ as people write it to PTX text: compiler, device header, names and launch templates."""

from __future__ import annotations

from warpbank.program.cuda.compiler import DEFAULT_ARCH, Compiled, compile_cuda, compile_source, source_arch

__all__ = ["DEFAULT_ARCH", "Compiled", "compile_cuda", "compile_source", "source_arch"]
