"""Tests of the CUDA compiler and its device header."""
