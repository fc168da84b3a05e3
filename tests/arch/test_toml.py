"""TOML that is read, and TOML that costs more than its size."""

from __future__ import annotations

import tomllib

import pytest

from warpbank.arch.toml import DEPTH, loads


def test_what_tomllib_reads_is_read() -> None:
    text = 'a = [1, [2.5, "x"]]\n[b.c.d]\ne.f = {g = true}\n[[h]]\n[[h]]\n'
    assert loads(text) == tomllib.loads(text)


def test_integers_of_64_bits() -> None:
    assert loads("a = [18446744073709551615, -9223372036854775808]")["a"] == [2**64 - 1, -(2**63)]
    for wrong in ("18446744073709551616", "-9223372036854775809", "0x" + "f" * 5000, "9" * 5000):
        with pytest.raises(tomllib.TOMLDecodeError, match=r"64 bits|a number cannot be read"):
            loads(f"a = [{wrong}]")


def test_depth() -> None:
    deepest = DEPTH - 2
    assert loads("a = " + "[" * deepest + "]" * deepest)
    with pytest.raises(tomllib.TOMLDecodeError, match="nested more than 50 deep"):
        loads("a = " + "[" * DEPTH + "]" * DEPTH)
    with pytest.raises(tomllib.TOMLDecodeError, match="nested too deeply"):
        loads("a = " + "[" * 5000 + "]" * 5000)


def test_dotted_keys() -> None:
    few, many = (".".join("k" for _ in range(count)) for count in (DEPTH - 5, 2000))
    assert loads(f"{few} = 1")
    quoted = ".".join('"a b"' for _ in range(2000))
    for text in (f"{many} = 1", f"[{many}]", f"  [[ {many} ]]", f"{quoted} = 1"):
        with pytest.raises(tomllib.TOMLDecodeError, match="a key has more than 50 parts"):
            loads(text)
    sentence = "a. " * 100
    assert loads(f'a = "{sentence}"')["a"] == sentence


def test_what_is_no_toml_says_so() -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="Invalid"):
        loads("a = ")
