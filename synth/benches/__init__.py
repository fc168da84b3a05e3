"""Protocol-level cocotb benches of single units, which `warpbank export --with-bench` copies.

A bench knows a unit by its ports and by what its paper says of it, not by the golden model: it has a driver,
a monitor, a scoreboard with a reference of its own, and coverage that must be reached. The files import
cocotb and one another only.
"""
