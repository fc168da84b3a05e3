"""Warpbank: an open laboratory for GPU register files."""
