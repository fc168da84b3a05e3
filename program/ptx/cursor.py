"""Token cursor, a place in a token list: looking, expecting, failing with a good message, and reading
constants."""

from __future__ import annotations

import struct
from typing import NoReturn

from warpbank.arch.errors import shown
from warpbank.program.errors import PtxError
from warpbank.program.ptx.ast import Immediate
from warpbank.program.ptx.lexer import END, Tokens

_PRECEDENCE = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6}
_SIGN = {"f32": 1 << 31, "f64": 1 << 63}


def number(text: str) -> Immediate:
    """The value of a number token."""
    head = text[:2].lower()
    if head == "0f":
        return Immediate(int(text[2:], 16), "f32")
    if head == "0d":
        return Immediate(int(text[2:], 16), "f64")
    if head == "0x":
        return Immediate(int(text[2:].rstrip("U"), 16))
    if head == "0b":
        return Immediate(int(text[2:].rstrip("U"), 2))
    if "." in text or "e" in text or "E" in text:
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(text)))[0], "f64")
    digits = text.rstrip("U")
    if len(digits) > 1 and digits[0] == "0":
        return Immediate(int(digits, 8))
    return Immediate(int(digits))


class Cursor:
    """Cursor that walks over tokens.

    Parameters
    ----------
    tokens : the file.

    Attributes
    ----------
    at : index of the next token.
    inside : what is being read, for the message about a truncated file: `function f, opened at line 3`; "" at
        module scope.
    initialised : bytes of initial values that have been read.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.at = 0
        self.inside = ""
        self.initialised = 0

    @property
    def text(self) -> str:
        """The next token as written."""
        return self.texts[self.at]

    @property
    def kind(self) -> str:
        """Kind of the next token."""
        return self.kinds[self.at]

    @property
    def line(self) -> int:
        """Line of the next token."""
        return self.tokens.line(self.at)

    def error(self, message: str, at: int | None = None) -> PtxError:
        """A PtxError at token `at` (the next one by default) that also quotes the line."""
        line = self.tokens.line(self.at if at is None else at)
        return PtxError(self.tokens.path, line, f"{message}, in {self.tokens.source_line(line)!r}")

    def fail(self, expected: str) -> NoReturn:
        """Raises the error for a token that is not what the grammar allows here."""
        if self.kind == END:
            inside = f" inside {self.inside}" if self.inside else ""
            raise PtxError(
                self.tokens.path,
                self.line,
                f"unexpected end of file{inside}: the file looks truncated; expected {expected}",
            )
        raise self.error(f"expected {expected}, found {shown(self.text)}")

    def expect(self, text: str, after: str = "") -> None:
        """Steps over the token `text`."""
        if self.texts[self.at] != text:
            self.fail(f"{text!r}{' after ' + after if after else ''}")
        self.at += 1

    def accept(self, text: str) -> bool:
        """Steps over the token if it is `text`; says whether it was."""
        if self.texts[self.at] == text and self.kinds[self.at] != "string":
            self.at += 1
            return True
        return False

    def name(self, what: str) -> str:
        """Steps over an identifier and returns it."""
        text = self.text
        if self.kind != "word" or "." in text or "::" in text:
            self.fail(what)
        self.at += 1
        return text

    def integer(self, what: str) -> int:
        """Steps over an integer constant expression and returns its value."""
        if not self.starts_constant():
            self.fail(what)
        at = self.at
        value = self.constant()
        if value.kind != "int":
            raise self.error(f"expected {what}, found the floating-point constant {self.texts[at]!r}", at)
        return value.value

    def skip_line(self) -> None:
        """Steps over the rest of the line of the next token: `.loc` and `.file` have no other end."""
        line = self.line
        while self.kind != END and self.line == line:
            self.at += 1

    def skip_to_semicolon(self) -> None:
        """Steps over everything up to and including the next semicolon."""
        while self.text != ";" or self.kind != "mark":
            if self.kind == END:
                self.fail("';'")
            self.at += 1
        self.at += 1

    def skip_block(self) -> None:
        """Steps over a `{ ... }` block, nested ones included."""
        self.expect("{")
        depth = 1
        while depth:
            if self.kind == END:
                self.fail("'}'")
            depth += {"{": 1, "}": -1}.get(self.text, 0)
            self.at += 1

    # Constants

    def starts_constant(self) -> bool:
        """Whether the next token begins a constant expression."""
        return self.kind == "number" or self.text in ("-", "+", "~", "(", "!", "WARP_SZ")

    def constant(self, floor: int = 1) -> Immediate:
        """Reads a constant expression whose operators bind at least as strongly as `floor`."""
        left = self._primary()
        while (level := _PRECEDENCE.get(self.text, 0)) >= floor:
            operator = self.text
            at = self.at
            self.at += 1
            right = self.constant(level + 1)
            left = self._combine(operator, left, right, at)
        return left

    def _primary(self) -> Immediate:
        text = self.text
        if self.kind == "number":
            self.at += 1
            try:
                return number(text)
            except ValueError:
                self.at -= 1
                raise self.error(f"{shown(text)} is not an octal constant, though it begins with 0") from None
        if text == "WARP_SZ":
            self.at += 1
            return Immediate(32)
        if text == "(":
            self.at += 1
            value = self.constant()
            self.expect(")", "the constant expression")
            return value
        if text in ("-", "+", "~", "!"):
            self.at += 1
            value = self._primary()
            if text == "+":
                return value
            if value.kind != "int":
                if text != "-":
                    raise self.error(f"operator {text!r} needs an integer constant")
                return Immediate(value.value ^ _SIGN[value.kind], value.kind)
            return Immediate({"-": -value.value, "~": ~value.value, "!": int(not value.value)}[text])
        self.fail("a constant")

    def _combine(self, operator: str, left: Immediate, right: Immediate, at: int) -> Immediate:
        if left.kind != "int" or right.kind != "int":
            raise self.error(f"operator {operator!r} in a constant expression needs integers", at)
        a, b = left.value, right.value
        if operator in ("<<", ">>") and not 0 <= b < 64:
            raise self.error(f"shift by {b} in a constant expression; constants have 64 bits", at)
        if operator == "/":
            if b == 0:
                raise self.error("division by zero in a constant expression", at)
            return Immediate(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
        values = {"|": a | b, "^": a ^ b, "&": a & b, "+": a + b, "-": a - b, "*": a * b}
        if operator in values:
            return Immediate(values[operator])
        return Immediate(a << b if operator == "<<" else a >> b)
