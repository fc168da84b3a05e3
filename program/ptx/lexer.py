"""Lexer that splits PTX text into tokens. PTX needs no context to be split, so this is one regular expression
run over the file."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from warpbank.arch.errors import shown
from warpbank.program.errors import PtxError

# What carries no meaning for execution and is blanked before tokens are made: comments, the DWARF lines of
# PTX 1.x, and preprocessor line marks. Strings come first in the alternation so that a `//` inside a file
# name is not taken for a comment. A comment that never ends takes the rest, so that it is looked for once.
_NOISE = re.compile(
    r'(?P<string>"(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?(?:\*/|\Z)'
    r"|^[ \t]*\.?@@DWARF[^\n]*|^[ \t]*#[^\n]*",
    re.DOTALL | re.MULTILINE,
)

# An opcode or special register keeps its dots (`ld.global.v4.f32`, `%tid.x`, `shared::cta`): one token is one
# thing to look up.
_TOKEN = re.compile(
    r"""
      (?P<word>[A-Za-z_$%][\w$]*(?:(?:\.|::)[A-Za-z0-9_]+)*)
    | (?P<directive>\.[A-Za-z_][\w$]*(?:::\w+)*)
    | (?P<number>(?: 0[fF][0-9a-fA-F]{8} | 0[dD][0-9a-fA-F]{16} | 0[xX][0-9a-fA-F]+U? | 0[bB][01]+U?
                   | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | \d+U? )(?![\w$]))
    | (?P<mark><<|>>|[{}()\[\];,:@!|+\-*/<>=&^~])
    | (?P<string>"(?:\\.|[^"\\\n])*")
    | (?P<space>\s+)
    | (?P<bad>[\w$]+|.)
    """,
    re.VERBOSE | re.ASCII,
)

END = "end"


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenized file, as parallel lists: a file has hundreds of thousands of tokens, and lists are what
    Python reads fastest.

    Parameters
    ----------
    path : name of the file, for messages.
    source : the text with comments blanked, every remaining character at its original offset.
    kinds : "word", "directive", "number", "mark" or "string" for each token; "end" for the one after the
        last.
    texts : the token as written; "" for the end.
    starts : its offset in `source`.
    newlines : offsets of the newlines in `source`.
    """

    path: str
    source: str
    kinds: list[str]
    texts: list[str]
    starts: list[int]
    newlines: list[int]

    def line(self, index: int) -> int:
        """1-based line of token `index`."""
        return bisect_right(self.newlines, self.starts[index]) + 1

    def slice(self, first: int, last: int) -> str:
        """The source from token `first` to token `last`, both included, with whitespace folded."""
        return " ".join(self.source[self.starts[first] : self.starts[last] + len(self.texts[last])].split())

    def source_line(self, line: int) -> str:
        """Line `line` with whitespace folded and comments gone; long ones are cut."""
        begin = self.newlines[line - 2] + 1 if line > 1 else 0
        end = self.newlines[line - 1] if line <= len(self.newlines) else len(self.source)
        folded = " ".join(self.source[begin:end].split())
        return folded if len(folded) <= 100 else folded[:100] + "..."


def _blank(match: re.Match[str]) -> str:
    """Spaces in place of noise; newlines stay, so that lines keep their numbers."""
    text = match.group()
    open_end = text.startswith("/*") and not (text.endswith("*/") and len(text) > 3)
    if match.group("string") is not None or open_end:
        return text
    return re.sub(r"[^\n]", " ", text)


def tokenize(text: str, path: str) -> Tokens:
    """Splits `text` into tokens; PtxError for a comment that never ends or a character that PTX does not
    have."""
    source = _NOISE.sub(_blank, text.rstrip("\0"))  # some tools hand PTX over as a C string
    newlines = [m.start() for m in re.finditer("\n", source)]
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    tokens = Tokens(path, source, kinds, texts, starts, newlines)
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup or ""
        if kind == "space":
            continue
        kinds.append(kind)
        texts.append(match.group())
        starts.append(match.start())
        if kind == "bad":
            raise PtxError(path, tokens.line(len(texts) - 1), _explain(tokens, match))
        if kind == "mark" and texts[-1] == "/" and source.startswith("/*", match.start()):
            raise PtxError(
                path, tokens.line(len(texts) - 1), "this comment /* is never closed: the file looks truncated"
            )
    kinds.append(END)
    texts.append("")
    starts.append(len(source.rstrip()))
    return tokens


def _explain(tokens: Tokens, match: re.Match[str]) -> str:
    """What is wrong with text that is no token."""
    text = match.group()
    where = tokens.source_line(tokens.line(len(tokens.texts) - 1))
    if text[0].isdigit():
        return (
            f"{shown(text)} is not a PTX constant; expected a decimal, 0x.., 0.. (octal) or 0b.. integer, a "
            f"decimal float, 0f with 8 or 0d with 16 hexadecimal digits, in {where!r}"
        )
    if text == '"':
        return f"a string is not closed on its line, in {where!r}"
    return f"unexpected character {shown(text)}, which no PTX statement contains, in {where!r}"
