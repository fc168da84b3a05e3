"""Seeded random programs: traces that no compiler made, with the hints and instructions a scheme asks for."""
