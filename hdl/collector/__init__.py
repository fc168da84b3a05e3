"""Operand collectors, with and without values that they keep."""
