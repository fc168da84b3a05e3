"""Host side of a CUDA program as data: buffers, launches, and what memory must hold at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Pointer:
    """A kernel argument that is the device address of a buffer, plus a byte offset."""

    buffer: str
    offset: int = 0


#: A kernel argument: a buffer's name or a `Pointer` (passed as a 64-bit device address), a numpy scalar (its
#: dtype must have the size of the PTX parameter), or raw bytes (a structure passed by value).
Argument = str | Pointer | np.generic | bytes


@dataclass(frozen=True)
class Launch:
    """One kernel launch.

    Parameters
    ----------
    entry : name of the `.entry` in the PTX module.
    grid, block : CTAs in the grid and threads in a CTA, (x, y, z).
    args : one `Argument` per PTX parameter, in order.
    dynamic_shared : bytes of dynamic (extern) shared memory per CTA.
    """

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[Argument, ...]
    dynamic_shared: int = 0


@dataclass(frozen=True)
class Expected:
    """Expected contents of a buffer after the last launch.

    Integers must match exactly, whatever the tolerances. Floats must satisfy
    `|found - value| <= atol + rtol * |value|`.
    """

    value: np.ndarray
    rtol: float = 0.0
    atol: float = 0.0


@dataclass
class Job:
    """A PTX module, the device buffers, and the launches that run on them, one after the other.

    Parameters
    ----------
    name, size : what to call it in reports ("sgemm", "small").
    ptx : text of the PTX module.
    ptx_path : where that text came from; used in error messages.
    buffers : initial contents of the device buffers. Never modified.
    launches : run in order, each to completion.
    expected : what some buffers must hold at the end.
    symbols : initial contents of module-scope `.const`/`.global` variables that the host fills
        (cudaMemcpyToSymbol).
    """

    name: str
    size: str
    ptx: str
    ptx_path: str
    buffers: dict[str, np.ndarray]
    launches: list[Launch]
    expected: dict[str, Expected] = field(default_factory=dict)
    symbols: dict[str, np.ndarray] = field(default_factory=dict)
