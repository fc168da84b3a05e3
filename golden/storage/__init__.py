"""Storages: how a warp register is kept in the banks."""
