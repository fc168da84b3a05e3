"""Lane operations: compiled functions over rows of the register file, each one instruction on 32 lanes.

A function reads rows of `R` (a warp's registers, uint32[rows, 32]), computes every lane whether active or
not, and leaves the result in the rows `OUT`, `OUT + 1`, ... Only the caller knows the mask: it copies the
active lanes to the destination. Predicates go in and out as 32-bit lane masks in an int64.
"""
