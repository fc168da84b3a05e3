"""Lowering of one PTX `.entry` to machine code over virtual registers. docs/lowering.md is its table."""

from __future__ import annotations

from warpbank.program.errors import PtxError
from warpbank.program.isa import Kernel
from warpbank.program.lowering import (  # noqa: F401 (each registers its opcodes)
    atomics,
    bits,
    calls,
    compare,
    control,
    convert,
    floating,
    hints,
    integer,
    lanes,
    memory,
    moves,
    staging,
    tensor,
    texture,
    wmma,
)
from warpbank.program.lowering.addresses import check_addresses
from warpbank.program.lowering.cleanup import clean
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.driver import finish_kernel, lower_body
from warpbank.program.lowering.layout import Layout
from warpbank.program.ptx.ast import Module
from warpbank.program.textures import NO_TEXTURES, Bindings
from warpbank.program.verify import MachineCodeError, verify

__all__ = ["lower"]


def lower(module: Module, entry: str, *, optimize: bool = True, textures: Bindings = NO_TEXTURES) -> Kernel:
    """Machine code of one kernel.

    Parameters
    ----------
    module : as parsed.
    entry : name of the `.entry`.
    optimize : clean the code up; off, it is a word-by-word image of the PTX.
    textures : the textures that the kernel may read; their sizes and types become part of its code.

    Raises
    ------
    PtxError : there is no such entry, or an instruction cannot be lowered; the message begins with file and
        line.
    """
    function = module.functions.get(entry)
    if function is None or not function.entry or function.body is None:
        entries = [f.name for f in module.functions.values() if f.entry and f.body is not None]
        raise PtxError(
            module.path, 1, f"there is no kernel {entry!r}; the file has {', '.join(entries) or 'none'}"
        )
    check_addresses(module)
    kernel = Kernel(name=entry, blocks=[], groups={}, predicates=0, ptx_path=module.path)
    required = function.directives.get("reqntid")
    if required:
        x, y, z = (*required, 1, 1)[:3]
        kernel.required_block = (x, y, z)
    ctx = Context(Layout(module, function, kernel, textures))
    lower_body(ctx, function)
    finish_kernel(ctx)
    clean(kernel, optimize=optimize)
    try:
        return verify(kernel)
    except MachineCodeError as error:
        # PTX whose types do not fit, and that no rule has refused: the user sees the line and no traceback.
        raise PtxError(
            module.path,
            error.line,
            f"kernel {entry}: no machine code can be made of the instruction: {error.why}; check that its "
            "type and its registers are as the PTX manual says",
        ) from error
