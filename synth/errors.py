"""Errors of synthesis, of energy tables and of the FPGA flow."""

from __future__ import annotations

from warpbank.arch.errors import WarpbankError


class EnergyError(WarpbankError):
    """An energy table that is unknown, cannot be read, or does not fit the run."""


class YosysError(WarpbankError):
    """Yosys is missing or refused the design."""


class MapperError(YosysError):
    """ABC, the mapper of Yosys, refused the cell library or the design."""


class LibertyError(WarpbankError):
    """A cell library that cannot be read, or cannot be used."""


class NetlistError(WarpbankError):
    """A netlist that cannot be built: cells without a library cell, latches, loops."""


class BoardError(WarpbankError):
    """An FPGA tool is missing or refused the design."""
