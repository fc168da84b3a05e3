"""From (warp, register) to (bank, row)."""
