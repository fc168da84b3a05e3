"""Errors of studies."""

from __future__ import annotations

from warpbank.arch.errors import WarpbankError


class SweepError(WarpbankError, ValueError):
    """A sweep that cannot be described: an empty list, a value twice or of the wrong kind, or a description
    file that cannot be read."""
