"""Folding of Verilog expressions: a wire without a name that is used once gives way to its expression.

RTLIL has a cell, and with it a wire, for every operator, and Yosys writes an assignment for each. Folding
takes the wire's expression to the place where the wire is used. An expression's width follows in Verilog from
where it stands: one that would be calculated with more bits there (an inverted or added value) gets braces,
which keep the wire's width, and one of which no bits can be taken keeps its wire.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

#: Operators of a folded expression, at most: longer ones are no easier to read than wires.
LIMIT = 48
#: Characters of a line.
_LINE = 110

_ANONYMOUS = re.compile(r"_\d+_")
_TOKEN = re.compile(
    r"\s*(\d+'s?[bodh][0-9a-fA-FxXzZ?_]+|\d+|\$?[A-Za-z_][\w$]*|\\\S+(?= )"
    r"|>>>|<<<|[=!]=|<=|>=|<<|>>|&&|\|\||~\^|\S)"
)
_DECLARATION = re.compile(
    r"  (?:input|output|inout|wire|reg) (?P<signed>signed )?(?:\[(?P<high>\d+):0\] )?"
    r"(?P<name>\\\S+ |\w+)(?P<rest>.*);$"
)
_ASSIGN = re.compile(r"  assign (?P<left>.+?) = (?P<right>.+);$")
_ALWAYS = re.compile(
    r"(?P<head> {4,}(?:else )?)(?:if \((?P<test>.*?)\)(?P<space> |$))?"
    r"(?:(?P<left>\S[^=]*?) <= (?P<right>.+);)?$"
)
_PORT = re.compile(r"    \.(?P<port>\\\S+ |\w+)\((?P<value>.+)\)(?P<end>,?)$")
_LEVELS = ("||", "&&", "|", "^ ~^", "&", "== !=", "< <= > >=", "<< >> <<< >>>", "+ -", "*")
_PRECEDENCE = {operator: level for level, row in enumerate(_LEVELS) for operator in row.split()}
_BOOLEAN = ("||", "&&", "==", "!=", "<", "<=", ">", ">=")
_SHIFTS = ("<<", ">>", "<<<", ">>>")
#: Operators whose result may be extended with zeros by extending their operands.
_EXTENDED = ("&", "|", "^", ">>")


@dataclass(frozen=True)
class _Node:
    """Expression.

    Parameters
    ----------
    kind : name, constant, slice, index, concatenation, repeat, signed, unary, binary, choice, call.
    width : of the expression by itself.
    text : name, constant or operator.
    parts : operands.
    high, low : bits of a slice.
    """

    kind: str
    width: int
    text: str = ""
    parts: tuple[_Node, ...] = ()
    high: int = 0
    low: int = 0


class _Unreadable(Exception):
    """Text that is no expression known here; it is left as it is."""


#: Sum whose upper bits go to a wire without a name, and what else is assigned to it.
_CARRY = re.compile(
    r"^  assign \{ (?P<wire>_\d+_)\[\d+(?::\d+)?\], (?P<name>\\\S+ |\w+) \} = (?P<right>[^?><&|]+;)$",
    re.MULTILINE,
)


def _without_carries(text: str) -> str:
    """Sums are cut to the bits that are used: a wire that only holds the others goes."""
    uses = Counter(_ANONYMOUS.findall(text))
    gone = []

    def cut(match: re.Match[str]) -> str:
        lower = rf"^  assign {match['wire']}\[\d+(?::\d+)?\] = {re.escape(match['name'].strip())} ?;$"
        if uses[match["wire"]] != 3 or not re.search(lower, text, re.MULTILINE):
            return match[0]
        gone.append(lower)
        gone.append(rf"^  wire (?:signed )?\[\d+:0\] {match['wire']};$")
        return f"  assign {match['name']} = {match['right']}"

    text = _CARRY.sub(cut, text)
    return re.sub("(?:" + "|".join(gone) + ")\n", "", text, flags=re.MULTILINE) if gone else text


def folded(verilog: str) -> str:
    """Verilog text with the single-use wires without a name folded into the expressions that use them."""
    out: list[str] = []
    module: list[str] = []
    for line in verilog.splitlines():
        module.append(line)
        if line == "endmodule":
            out += _Module(_without_carries("\n".join(module) + "\n").splitlines()).lines()
            module = []
    return "\n".join([*out, *module]) + "\n"


class _Module:
    """One module of the text."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._widths: dict[str, int] = {}
        self._memories: dict[str, int] = {}
        self._functions: dict[str, int] = {}
        self._signed: set[str] = set()
        #: Statements that were read: line number, texts between expressions, the expressions, their contexts.
        self._statements: dict[int, list[str | tuple[_Node, int]]] = {}
        #: Wires without a name that are assigned here: line numbers, and what is assigned.
        self._assigned: dict[str, list[tuple[int, int, int, _Node]]] = {}
        self._driven: dict[str, _Node] = {}
        self._written: set[str] = set()
        self._declare()
        self._read()
        self._choose()

    # --- Reading.

    def _declare(self) -> None:
        for line in self._lines:
            if match := _DECLARATION.match(line):
                name, width = match["name"].strip(), int(match["high"] or 0) + 1
                if re.match(r" ?\[", match["rest"]):
                    self._memories[name] = width
                else:
                    self._widths[name] = width
                    if match["signed"]:
                        self._signed.add(name)
            elif match := re.match(r"  function (?:\[(\d+):0\] )?(\S+);", line):
                self._functions[match[2]] = int(match[1] or 0) + 1

    def _read(self) -> None:
        pinned: set[str] = set()
        inside = ""
        for number, line in enumerate(self._lines):
            if inside:
                if line.strip() == inside:
                    inside = ""
                continue
            if line.startswith("  function "):
                inside = "endfunction"
            elif line.startswith(("  initial ", "module ")) or _DECLARATION.match(line):
                continue
            else:
                try:
                    self._statement(number, line)
                except _Unreadable:
                    self._statements.pop(number, None)
                    pinned |= set(_ANONYMOUS.findall(line))
        for name in pinned:
            self._assigned.pop(name, None)

    def _statement(self, number: int, line: str) -> None:
        if match := _ASSIGN.match(line):
            left, right = self._parse(match["left"]), self._parse(match["right"])
            context = max(left.width, right.width)
            self._statements[number] = [f"  assign {match['left']} = ", (right, context), ";"]
            wire = left.parts[0] if left.kind == "slice" else left
            if wire.kind == "name" and _ANONYMOUS.fullmatch(wire.text):
                high, low = (left.high, left.low) if left.kind == "slice" else (left.width - 1, 0)
                self._assigned.setdefault(wire.text, []).append((number, high, low, right))
            else:
                self._written |= {node.text for node in _names(left)}
        elif match := _PORT.match(line):
            value = self._parse(match["value"])
            self._statements[number] = [f"    .{match['port']}(", (value, value.width), f"){match['end']}"]
        elif (match := _ALWAYS.match(line)) and (match["test"] or match["left"]):
            texts: list[str | tuple[_Node, int]] = [match["head"]]
            if match["test"]:
                test = self._parse(match["test"])
                texts += ["if (", (test, test.width), ")" + match["space"]]
            if match["left"]:
                left, right = self._parse(match["left"]), self._parse(match["right"])
                texts += [(left, left.width), " <= ", (right, max(left.width, right.width)), ";"]
            self._statements[number] = texts
        elif _ANONYMOUS.search(line):
            raise _Unreadable

    def _parse(self, text: str) -> _Node:
        tokens = _TOKEN.findall(text)
        node, at = self._choice(tokens, 0)
        if at != len(tokens):
            raise _Unreadable
        return node

    def _choice(self, tokens: list[str], at: int) -> tuple[_Node, int]:
        test, at = self._binary(tokens, at, 0)
        if at == len(tokens) or tokens[at] != "?":
            return test, at
        one, at = self._choice(tokens, at + 1)
        at = _expect(tokens, at, ":")
        other, at = self._choice(tokens, at)
        return _Node("choice", max(one.width, other.width), parts=(test, one, other)), at

    def _binary(self, tokens: list[str], at: int, level: int) -> tuple[_Node, int]:
        if level == len(_LEVELS):
            return self._unary(tokens, at)
        left, at = self._binary(tokens, at, level + 1)
        while at < len(tokens) and tokens[at] in _LEVELS[level].split():
            operator = tokens[at]
            right, at = self._binary(tokens, at + 1, level + 1)
            left = _operation(operator, left, right)
        return left, at

    def _unary(self, tokens: list[str], at: int) -> tuple[_Node, int]:
        if at < len(tokens) and tokens[at] in ("~", "!", "&", "|", "^", "-"):
            operator = tokens[at]
            inner, at = self._unary(tokens, at + 1)
            return _Node("unary", inner.width if operator in "~-" else 1, operator, (inner,)), at
        return self._primary(tokens, at)

    def _primary(self, tokens: list[str], at: int) -> tuple[_Node, int]:
        if at == len(tokens):
            raise _Unreadable
        token, at = tokens[at], at + 1
        if token == "(":
            node, at = self._choice(tokens, at)
            return node, _expect(tokens, at, ")")
        if token == "{":
            return self._concatenation(tokens, at)
        if "'" in token:
            if "s" in token.split("'")[1][:1]:
                raise _Unreadable
            return _Node("constant", int(token.split("'")[0]), token), at
        if token in self._functions:
            arguments, at = [], _expect(tokens, at, "(")
            while True:
                argument, at = self._choice(tokens, at)
                arguments.append(argument)
                if at < len(tokens) and tokens[at] == ",":
                    at += 1
                    continue
                at = _expect(tokens, at, ")")
                return _Node("call", self._functions[token], token, tuple(arguments)), at
        if token == "$signed":
            inner, at = self._choice(tokens, _expect(tokens, at, "("))
            return _Node("signed", inner.width, parts=(inner,)), _expect(tokens, at, ")")
        if token in self._memories:
            index, at = self._choice(tokens, _expect(tokens, at, "["))
            row = _Node("index", self._memories[token], token, (index,))
            return self._selected(row, tokens, _expect(tokens, at, "]"))
        if token not in self._widths:
            raise _Unreadable
        return self._selected(_Node("name", self._widths[token], token), tokens, at)

    def _selected(self, node: _Node, tokens: list[str], at: int) -> tuple[_Node, int]:
        """What is chosen of it, if anything is: constant bits only."""
        if at == len(tokens) or tokens[at] != "[":
            return node, at
        if not tokens[at + 1].isdigit():
            raise _Unreadable
        high = low = int(tokens[at + 1])
        at += 2
        if tokens[at] == ":" and tokens[at + 1].isdigit():
            low, at = int(tokens[at + 1]), at + 2
        return _Node("slice", high - low + 1, parts=(node,), high=high, low=low), _expect(tokens, at, "]")

    def _concatenation(self, tokens: list[str], at: int) -> tuple[_Node, int]:
        if tokens[at].isdigit() and tokens[at + 1] == "{":
            count = int(tokens[at])
            inner, at = self._concatenation(tokens, at + 2)
            return _Node("repeat", count * inner.width, str(count), (inner,)), _expect(tokens, at, "}")
        parts = []
        while True:
            part, at = self._choice(tokens, at)
            parts.append(part)
            if at < len(tokens) and tokens[at] == ",":
                at += 1
                continue
            return _concatenated(parts), _expect(tokens, at, "}")

    # --- Choosing.

    def _choose(self) -> None:
        """Find the wires that are used once, and what stands for them."""
        uses: Counter[str] = Counter()
        for texts in self._statements.values():
            for text in texts:
                if not isinstance(text, str):
                    uses.update(node.text for node in _names(text[0]) if _ANONYMOUS.fullmatch(node.text))
        for name, pieces in self._assigned.items():
            if uses[name] != 1 or name in self._written:
                continue
            expected, parts = self._widths[name], []
            for _, high, low, right in sorted(pieces, key=lambda piece: -piece[1]):
                value = None if self._is_signed(right) else _of_width(right, high - low + 1)
                if high != expected - 1 or value is None:
                    break
                parts.append(value)
                expected = low
            else:
                if not expected:
                    self._driven[name] = parts[0] if len(parts) == 1 else _concatenated(parts)
        self._cut()

    def _is_signed(self, node: _Node) -> bool:
        """Whether the signs of operands count, which depends on all that stands around an expression."""
        if node.kind in ("slice", "index", "concatenation", "repeat", "call"):
            return False
        if node.kind in ("name", "signed"):
            return node.kind == "signed" or node.text in self._signed
        if node.kind == "binary" and node.text in _BOOLEAN:
            return False
        return any(self._is_signed(part) for part in node.parts)

    def _cut(self) -> None:
        """Leave a wire wherever an expression would grow too long."""
        sizes: dict[str, int] = {}
        for first in list(self._driven):
            stack = [first]
            while stack:
                name = stack[-1]
                if name in sizes:  # it may no longer be driven
                    stack.pop()
                    continue
                below = [node.text for node in _names(self._driven[name]) if node.text in self._driven]
                if waiting := [other for other in below if other not in sizes]:
                    stack += waiting
                    continue
                stack.pop()
                size = _operators(self._driven[name])
                for other in sorted(below, key=lambda other: sizes[other]):
                    if size + sizes[other] > LIMIT:
                        del self._driven[other]
                    else:
                        size += sizes[other]
                sizes[name] = size

    # --- Writing.

    def lines(self) -> list[str]:
        """The module's text."""
        owner = {
            number: name for name in self._driven for number, *_ in self._assigned[name]
        }  # of the statements that may go
        texts: dict[int, str] = {}
        needed: set[str] = set()
        wanted = [number for number in self._statements if number not in owner]
        while wanted:
            number = wanted.pop()
            out = []
            for text in self._statements[number]:
                out.append(text if isinstance(text, str) else self._shown(text[0], text[1], needed))
            texts[number] = "".join(out)
            for name in [name for name in needed if name in self._driven]:
                del self._driven[name]
                wanted += [number for number, *_ in self._assigned[name]]
        result = []
        for number, line in enumerate(self._lines):
            if (match := _DECLARATION.match(line)) and match["name"] in self._driven:
                continue
            if number in texts:
                result += _wrapped(texts[number])
            elif number not in self._statements:
                result.append(line)
        return result

    def _shown(self, node: _Node, context: int, needed: set[str], level: int = -1) -> str:
        """Text of an expression whose surroundings are `context` bits wide."""
        found = self._resolved(node, needed)
        if found is not node and context > found.width and not _extends(found):
            return f"{{ {self._shown(found, found.width, needed)} }}"  # as wide as the wire was
        node = found
        if node.kind in ("name", "constant"):
            return _name(node.text)
        if node.kind == "slice":
            bits = f"{node.high}" if node.high == node.low else f"{node.high}:{node.low}"
            whole = node.parts[0]
            return f"{_name(whole.text) if whole.kind == 'name' else self._shown(whole, 0, needed)}[{bits}]"
        if node.kind == "index":
            return f"{_name(node.text)}[{self._shown(node.parts[0], 0, needed)}]"
        if node.kind in ("concatenation", "repeat"):
            inner = ", ".join(self._shown(part, 0, needed) for part in node.parts)
            return f"{{{node.text}{inner}}}" if node.kind == "repeat" else f"{{ {inner} }}"
        if node.kind == "signed":
            return f"$signed({self._shown(node.parts[0], 0, needed)})"
        if node.kind == "call":
            return f"{node.text}({', '.join(self._shown(part, 0, needed) for part in node.parts)})"
        if node.kind == "unary":
            inner = self._shown(node.parts[0], context if node.text in "~-" else 0, needed, 99)
            return _bracketed(f"{node.text} {inner}", level >= 0)
        if node.kind == "choice":
            test, one, other = node.parts
            text = (
                f"{self._shown(test, 0, needed, 1)} ? {self._shown(one, context, needed, 1)} : "
                f"{self._shown(other, context, needed, 0)}"
            )
            return _bracketed(text, level > 0)
        return self._shown_binary(node, context, needed, level)

    def _shown_binary(self, node: _Node, context: int, needed: set[str], level: int) -> str:
        left, right = node.parts
        own = _PRECEDENCE[node.text] + 2
        if node.text in ("||", "&&"):
            around = (0, 0)
        elif node.text in _BOOLEAN:
            around = (max(left.width, right.width),) * 2
        elif node.text in _SHIFTS:
            around = (context, 0)
        else:
            around = (context, context)
        same = self._resolved(left, set())
        chained = same.kind == "binary" and same.text == node.text and node.text in "&|^"
        texts = (
            self._shown(left, around[0], needed, own if chained else 50),
            self._shown(right, around[1], needed, 50),
        )
        return _bracketed(f"{texts[0]} {node.text} {texts[1]}", level >= 0 and level != own)

    def _resolved(self, node: _Node, needed: set[str]) -> _Node:
        """What stands for a wire that is folded; the wire, if it stays."""
        while True:
            if node.kind == "name" and node.text in self._driven:
                node = self._driven[node.text]
            elif node.kind == "slice" and node.parts[0].kind == "name" and node.parts[0].text in self._driven:
                name = node.parts[0].text
                found = _slice(self._driven[name], node.high, node.low)
                if found is None:
                    needed.add(name)
                    return node
                node = found
            else:
                return node


def _expect(tokens: list[str], at: int, token: str) -> int:
    if at >= len(tokens) or tokens[at] != token:
        raise _Unreadable
    return at + 1


def _operation(operator: str, left: _Node, right: _Node) -> _Node:
    if operator in _BOOLEAN:
        width = 1
    elif operator in _SHIFTS:
        width = left.width
    else:
        width = max(left.width, right.width)
    return _Node("binary", width, operator, (left, right))


def _concatenated(parts: list[_Node]) -> _Node:
    return _Node("concatenation", sum(part.width for part in parts), parts=tuple(parts))


def _names(node: _Node) -> list[_Node]:
    """The names in an expression."""
    found, stack = [], [node]
    while stack:
        top = stack.pop()
        if top.kind == "name":
            found.append(top)
        stack += top.parts
    return found


def _operators(node: _Node) -> int:
    return (node.kind in ("unary", "binary", "choice", "call")) + sum(map(_operators, node.parts))


def _extends(node: _Node) -> bool:
    """Whether an operator's result is extended with zeros where its operands are."""
    if node.kind == "unary":
        return node.text not in "~-"
    return node.kind != "binary" or node.text in _EXTENDED or node.text in _BOOLEAN


def _constant(value: int, width: int) -> _Node:
    return _Node("constant", width, f"{width}'h{value:x}")


def _value(node: _Node) -> int | None:
    """Value of a constant; None if it is no number."""
    if node.kind != "constant":
        return None
    digits = re.fullmatch(r"\d+'h([0-9a-f]+)", node.text)
    return int(digits[1], 16) if digits else None


def _padded(node: _Node, width: int) -> _Node:
    if node.width >= width:
        return node
    if (value := _value(node)) is not None:
        return _constant(value, width)
    return _concatenated([_Node("constant", width - node.width, f"{width - node.width}'h0"), node])


def _of_width(node: _Node, width: int) -> _Node | None:
    """The expression that has the value of a wire of that width by itself; None if there is none."""
    if node.width == width:
        return node
    if node.width > width:
        return _slice(node, width - 1, 0)
    if node.kind == "binary" and node.text not in _BOOLEAN:
        left, right = node.parts
        return replace(node, width=width, parts=(_padded(left, width), right))
    if node.kind == "unary" and node.text in "~-":
        return replace(node, width=width, parts=(_padded(node.parts[0], width),))
    if node.kind == "choice":
        test, one, other = node.parts
        return replace(node, width=width, parts=(test, _padded(one, width), other))
    return _padded(node, width)


def _slice(node: _Node, high: int, low: int) -> _Node | None:
    """Some bits of an expression, as an expression; None if they are none without a wire."""
    width = high - low + 1
    if (high, low) == (node.width - 1, 0):
        return node
    if node.kind == "name":
        return _Node("slice", width, parts=(node,), high=high, low=low)
    if node.kind == "slice":
        return _Node("slice", width, parts=node.parts, high=node.low + high, low=node.low + low)
    if node.kind == "concatenation":
        return _slice_of_parts(node, high, low)
    if (value := _value(node)) is not None:
        return _constant(value >> low & ((1 << width) - 1), width)
    if node.kind == "choice" or (node.kind == "binary" and node.text in ("&", "|", "^")):
        kept = node.parts[:1] if node.kind == "choice" else ()
        parts = [_slice(_padded(part, node.width), high, low) for part in node.parts[len(kept) :]]
    elif node.kind == "unary" and node.text == "~":
        kept, parts = (), [_slice(node.parts[0], high, low)]
    elif node.kind == "binary" and node.text in ("+", "-", "*") and low == 0:
        kept, parts = (), [_slice(_padded(part, node.width), high, 0) for part in node.parts]
    else:
        return None
    known = [part for part in parts if part is not None]
    if node.kind == "choice" and len(known) == 2 and _value(known[0]) == _value(known[1]) is not None:
        return known[0]
    return replace(node, width=width, parts=(*kept, *known)) if len(known) == len(parts) else None


def _slice_of_parts(node: _Node, high: int, low: int) -> _Node | None:
    at, found = node.width, []
    for part in node.parts:
        at -= part.width
        top, bottom = min(high - at, part.width - 1), max(low - at, 0)
        if top < bottom:
            continue
        piece = _slice(part, top, bottom)
        if piece is None:
            return None
        found.append(piece)
    return found[0] if len(found) == 1 else _concatenated(found)


def _name(text: str) -> str:
    """A name as Verilog has it: a space ends an escaped one."""
    return f"{text} " if text.startswith("\\") else text


def _bracketed(text: str, wanted: bool) -> str:
    return f"({text})" if wanted else text


def _wrapped(line: str) -> list[str]:
    """A long line, in pieces."""
    if len(line) <= _LINE:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    found, rest = [], line
    while len(rest) > _LINE:
        at = rest.rfind(" ", len(indent) + 1, _LINE)
        if at < 0:
            at = rest.find(" ", _LINE)
        if at < 0 or not rest[at:].strip():
            break
        found.append(rest[:at])  # an escaped name ends with its line
        rest = indent + rest[at + 1 :].lstrip()
    return [*found, rest]
