"""A self-checking demonstrator for an FPGA board: one sub-core, an integer execution unit, a program made
from a real kernel."""
