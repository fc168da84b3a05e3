"""Release flags of register renaming (Jeon and Annavaram, CENG-2014-05): where a warp gives its physical
registers back."""
