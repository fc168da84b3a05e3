"""Fields of MMA's `aux`: which piece of a matrix product an instruction computes.

An MMA computes one 8 x 8 piece with two accumulators per lane, or for f64 one. `dtype` is the type of A,
`stype` that of the accumulators. A register of a factor holds E elements of one row of A (column of B): 4 of
8 bits, 2 of 16, 1 tf32 or f64. Lane 4g + t holds row g, at k = E * t onwards, and in its second register
(if k = 8E) at k = 4E + E * t onwards.

- f64: srcs (a(2), b(2), c(2)), k = 4; `part` is the column 2t + part that the accumulator stands in.
- f16 with k = 4: four independent 8 x 8 x 4 products of the lanes 4q to 4q + 3 and 16 + 4q to 19 + 4q; srcs
  (a(2), b(2), c); `part` says which pair of the eight accumulators of a lane.
"""

from __future__ import annotations

from warpbank.program.isa.modifiers import DType

PART_SHIFT = 16
OTHER_SHIFT = 8
SATURATE = 1 << 20
A_COLUMN = 1 << 21
B_COLUMN = 1 << 22


def matrix_aux(
    k: int,
    *,
    part: int = 0,
    other: DType | None = None,
    saturate: bool = False,
    a_column: bool = False,
    b_column: bool = False,
) -> int:
    """The `aux` of an MMA.

    Parameters
    ----------
    k : length of the products.
    part : piece of the accumulators, of f64 and of f16 with k = 4.
    other : the type of B where it is not that of A.
    saturate : integer accumulators saturate instead of wrapping.
    a_column, b_column : f16 with k = 4: the factor is stored by columns.
    """
    kind = 0 if other is None else other + 1
    flags = SATURATE * saturate | A_COLUMN * a_column | B_COLUMN * b_column
    return k | kind << OTHER_SHIFT | part << PART_SHIFT | flags


def elements(dtype: DType) -> int:
    """Elements of a factor in a 32-bit register; 1 for f64, which takes two registers."""
    return max(1, 32 // dtype.bits)
