"""Demonstrator for an FPGA board that checks itself: one sub-core, an integer execution unit, a program made
from a real kernel."""
