"""Operand collectors, and the arbiter between them and the register banks."""
