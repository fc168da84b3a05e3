"""RTL of the machine, in Amaranth: one file per file of golden/, with the names and the cycles of golden.

golden/ is the specification. A component here has the class name of its golden twin, reports the same events
in the same cycles, and takes its sizes from the same `warpbank.arch.parameters` configuration.
"""
