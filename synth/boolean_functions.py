"""Boolean functions of cells, as Liberty writes them, and as truth tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from warpbank.arch.errors import shown

#: Most inputs of a cell: a table has two to their power rows.
MOST_INPUTS = 12
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_\[\]]*|[01]|[()!'&*+|^]")


def truth(function: str, inputs: Sequence[str]) -> int:
    """Truth table of a function: bit i is its value where bit n of i is the value of the nth input.

    `!` before and `'` after an operand are NOT, `&`, `*` and nothing AND, `|` and `+` OR, `^` XOR; NOT binds
    first, then XOR, AND, OR. Raises ValueError if the function names what is no input, or cannot be read.
    """
    if len(inputs) > MOST_INPUTS:
        raise ValueError(f"a cell of {len(inputs)} inputs is no gate; at most {MOST_INPUTS} are read")
    try:
        return _truth(function, tuple(inputs))
    except RecursionError:
        raise ValueError(f"the function {shown(function)} is nested too deeply to be read") from None


@cache
def _truth(function: str, inputs: tuple[str, ...]) -> int:
    rows = 1 << len(inputs)
    full = (1 << rows) - 1
    columns = {name: sum(1 << row for row in range(rows) if row >> n & 1) for n, name in enumerate(inputs)}
    words = _WORD.findall(function.replace('"', ""))
    at = 0

    def peek() -> str:
        return words[at] if at < len(words) else ""

    def take() -> str:
        nonlocal at
        at += 1
        return words[at - 1] if at <= len(words) else ""

    def operand() -> int:
        word = take()
        if word == "!":
            return operand() ^ full
        if word == "(":
            value = either()
            if take() != ")":
                raise ValueError(f"the function {shown(function)} lacks a parenthesis")
        elif word in ("0", "1"):
            value = full * int(word)
        elif word in columns:
            value = columns[word]
        else:
            raise ValueError(
                f"the function {shown(function)} names {shown(word)}, which is not among "
                f"{', '.join(inputs) or 'no inputs'}"
            )
        while peek() == "'":
            take()
            value ^= full
        return value

    def differ() -> int:
        value = operand()
        while peek() == "^":
            take()
            value ^= operand()
        return value

    def both() -> int:
        value = differ()
        while peek() in ("&", "*") or (peek() and peek() not in "|+)^'"):
            if peek() in ("&", "*"):
                take()
            value &= differ()
        return value

    def either() -> int:
        value = both()
        while peek() in ("|", "+"):
            take()
            value |= both()
        return value

    value = either()
    if at < len(words):
        raise ValueError(f"the function {shown(function)} cannot be read at {shown(words[at])}")
    return value
