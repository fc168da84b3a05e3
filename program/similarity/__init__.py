"""How alike the values of a warp register are, from traces: the ground of G-Scalar (Liu et al., HPCA
2017)."""
