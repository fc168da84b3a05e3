"""Register-intervals and strands: where a warp prefetches its registers, and which (LTRF, section 3)."""
