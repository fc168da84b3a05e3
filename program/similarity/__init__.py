"""Similarity of the values of a warp register, from traces: the ground of G-Scalar (Liu et al., HPCA
2017)."""
