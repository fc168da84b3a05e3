"""Host side of a CUDA program as data: buffers, launches, and what memory must hold at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Pointer:
    """A kernel argument that is the device address of a buffer, plus a byte offset."""

    buffer: str
    offset: int = 0


#: A kernel argument: a buffer's name or a `Pointer` (passed as a 64-bit device address), a texture's name
#: (passed as a 64-bit handle), a numpy scalar (its dtype must have the size of the PTX parameter), or raw
#: bytes (a structure passed by value).
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


class Border(StrEnum):
    """Addressing mode of a texture: what a coordinate outside of it reads."""

    CLAMP = "clamp"  # the nearest texel
    ZERO = "border"  # zeros, and no access to memory
    WRAP = "wrap"  # the texture repeats; normalised coordinates only


@dataclass(frozen=True)
class Texture:
    """A texture on a buffer in global memory, read by point sampling.

    Parameters
    ----------
    buffer : name of the buffer.
    dtype : type of an element: an integer of 8, 16 or 32 bits, f16 or f32.
    channels : elements of a texel: 1, 2 or 4.
    width, height : texels of a row, and rows; height 0 makes a texture of one dimension.
    pitch : bytes from one row to the next.
    offset : bytes from the buffer's start to the first texel.
    borders : addressing mode of x and y.
    normalized : coordinates run from 0 to 1.
    fractions : integers of 8 and 16 bits are read as f32: unsigned ones from 0 to 1, signed ones from -1 to
        1.
    """

    buffer: str
    dtype: np.dtype[Any]
    channels: int
    width: int
    height: int = 0
    pitch: int = 0
    offset: int = 0
    borders: tuple[Border, Border] = (Border.CLAMP, Border.CLAMP)
    normalized: bool = False
    fractions: bool = False

    @property
    def texel_bytes(self) -> int:
        """Bytes of a texel."""
        return self.dtype.itemsize * self.channels

    @property
    def dimensions(self) -> int:
        """Number of coordinates: 1 or 2."""
        return 2 if self.height else 1

    @property
    def end(self) -> int:
        """Bytes of the buffer up to the end of the last texel."""
        return self.offset + max(self.height - 1, 0) * self.pitch + self.width * self.texel_bytes


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
    textures : textures on the buffers, by the name of a `.texref` variable of the PTX or of an argument.
    """

    name: str
    size: str
    ptx: str
    ptx_path: str
    buffers: dict[str, np.ndarray]
    launches: list[Launch]
    expected: dict[str, Expected] = field(default_factory=dict)
    symbols: dict[str, np.ndarray] = field(default_factory=dict)
    textures: dict[str, Texture] = field(default_factory=dict)
