"""Register allocation from virtual registers and predicates to R0..R254 and P0..P6.

Sharing under SIMT. Two values may have one physical register if no *thread* ever needs both: a register is an
array with one element per lane, a lane reads and writes its own element only, and a write under a partial
mask leaves the elements of other lanes as they were. So what one lane does on its side of a branch cannot
disturb what another lane holds for its side, in whatever order the sides run, and liveness of a single thread
decides. Shuffles and MMA read other lanes' elements, but only of lanes that execute the same instruction, for
which the source is alive at that very place.
"""

from warpbank.program.allocation.allocator import AllocationReport, allocate, allocate_with_report

__all__ = ["AllocationReport", "allocate", "allocate_with_report"]
