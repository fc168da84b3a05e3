"""Benchmarks: each prints the numbers that README quotes."""
