"""Benchmarks: speed, each measured by one command."""
