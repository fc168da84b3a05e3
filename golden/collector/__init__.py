"""Operand collectors: baseline (OCU), bypassing (BOC) and caching (CCU)."""
