"""Error of the compiler of the golden model."""

from __future__ import annotations

from warpbank.program.errors import WarpbankError


class ModelError(WarpbankError):
    """The golden model cannot be compiled: a package, a header or a compiler is missing, or one failed."""
