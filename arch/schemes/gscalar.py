"""Rows of G-Scalar and of the storages that its paper compares it with, and what a scalar bank cannot
serve."""

from __future__ import annotations

from warpbank.arch.schemes.registry import Row, Scheme
from warpbank.arch.units import Part, Size, StorageUnit

ROWS = (
    Row(
        name="gscalar",
        description=("Registers compressed byte by byte; one lane executes a uop whose operands are scalar."),
        paper="G-Scalar, sections 3 and 4",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="gscalar",
                golden="warpbank.golden.storage.gscalar:gscalar",
                hdl="warpbank.hdl.storage.gscalar:GScalar",
                encodes=True,
                late=True,
                arrays=(4, 16),  # bytes of a position
                exported="gscalar",
                size=Size("fermi", quick=True),
                parts=(  # the paper clocks them at 1.4 GHz, 0.71 ns, in 40 nm
                    Part("compressor", Size("fermi", clock=0.6, kernel="hotspot"), shown=True),
                    Part("decompressor", Size("fermi", clock=0.6, kernel="hotspot"), shown=True),
                    Part("compressor_broadcast", Size("fermi", clock=0.6)),
                    Part("scalar_lanes"),
                    Part("decompress_moves", Size("fermi", clock=0.9, quick=True)),
                ),
            ),
        ),
        representative=True,
    ),
    Row(
        name="gscalar-half",
        description=(
            "Registers whose halves are compressed byte by byte, each by itself; one lane may execute a half."
        ),
        paper="G-Scalar, section 4.3",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="gscalar_half",
                golden="warpbank.golden.storage.gscalar:gscalar",
                hdl="warpbank.hdl.storage.gscalar:GScalar",
                arguments={"parts": 2},
                encodes=True,
                late=True,
                arrays=(8, 32),  # bytes of a position of a half
                exported="gscalar",
                parts=(
                    Part("compressor_half", Size("fermi", clock=0.6), shown=True),
                    Part("decompressor_half", Size("fermi", clock=0.6), shown=True),
                ),
            ),
        ),
    ),
    Row(
        name="scalar-rf",
        description=(
            "Scalar bank for registers whose lanes are all equal; one lane executes arithmetic on them."
        ),
        paper="G-Scalar, sections 4.1 and 5.3 (scalar register file: Gilani et al., HPCA 2013)",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="scalar_rf",
                golden="warpbank.golden.storage.scalar_file:scalar_file",
                hdl="warpbank.hdl.storage.scalar_rf:ScalarRf",
                encodes=True,
                late=True,
                single_cycle=True,
                exported="scalar_rf",
                size=Size("fermi", quick=True),
                whole="scalar_registers",
            ),
        ),
    ),
    Row(
        name="bdi",
        description="Registers compressed as a base and the differences from it (BDI); all lanes execute.",
        paper="G-Scalar, sections 2.2 and 5.3 (W-C: Lee et al., ISCA 2015)",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="bdi",
                golden="warpbank.golden.storage.bdi_banks:bdi",
                hdl="warpbank.hdl.storage.bdi_banks:BdiBanks",
                encodes=True,
                late=True,
                exported="bdi_banks",
                size=Size("fermi", quick=True),
                parts=(Part("bdi_compressor", shown=True), Part("bdi_decompressor", shown=True)),
            ),
        ),
    ),
)


def _one_scalar_bank(scheme: Scheme) -> str:
    """Refuse units that a scalar bank with one port cannot serve."""
    if scheme.storage != "scalar_rf":
        return ""
    if scheme.hierarchy != "flat":
        return (
            "registers between a register file cache and its banks move several a cycle, and the one port of "
            "scalar-rf's scalar bank takes one; gscalar does what it does, bank by bank."
        )
    if scheme.collector == "boc":
        return (
            "an evicted value may wait for scalar-rf's one scalar bank, and a uop that writes lanes of it "
            "may issue meanwhile, too late for the move that must go first; bow writes its results through."
        )
    return ""


RULES = (_one_scalar_bank,)
