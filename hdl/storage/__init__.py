"""How a warp register is kept in the banks."""
