"""Operand parser: registers, constants, vectors, addresses, predicate pairs, calls."""

from __future__ import annotations

from dataclasses import dataclass, replace

from warpbank.arch.errors import shown
from warpbank.program.ptx.ast import (
    Address,
    Call,
    Immediate,
    Negated,
    Operand,
    PredicatePair,
    Register,
    Special,
    Symbol,
    Vector,
)
from warpbank.program.ptx.cursor import Cursor, number
from warpbank.program.ptx.scope import SPECIAL, OperandLookup, Scope

#: Opcodes whose first operand is a label, which has a name space of its own.
BRANCHES = ("bra", "brx")


@dataclass(slots=True)
class Use:
    """Use of a name that no declaration before it explains: a label, or a symbol of the module. Settled when
    all of them are known."""

    name: str
    scope: Scope
    token: int
    statement: int = -1
    operand: int = -1


class OperandParser:
    """Operand parser, for which the reader of the body says by its scope what a name means.

    Parameters
    ----------
    cursor : stands in a function's body.
    external_uses : receives (name, token index) of every name that must be a variable or function of the
        module.

    Attributes
    ----------
    scope : the innermost scope at the cursor.
    uses : names that were not known when they were read.
    sizes : bytes of an element of each variable of the function.
    statement : index of the statement being read.
    """

    def __init__(self, cursor: Cursor, external_uses: list[tuple[str, int]]) -> None:
        self.cursor = cursor
        self.external_uses = external_uses
        self.scope = Scope(OperandLookup(), None)
        self.uses: list[Use] = []
        self.sizes: dict[str, int] = {}
        self.statement = 0

    def operand_list(self, operands: list[Operand | None], opcode: str) -> None:
        """Reads operands up to the semicolon."""
        cursor = self.cursor
        while True:
            if cursor.texts[cursor.at] == "[":
                self._address(operands)
            else:
                operands.append(self._operand(opcode, len(operands)))
            if cursor.texts[cursor.at] != ",":
                return
            cursor.at += 1

    def _operand(self, opcode: str, index: int) -> Operand | None:
        """Reads one operand that is no address."""
        cursor = self.cursor
        at = cursor.at
        kind, text = cursor.kinds[at], cursor.texts[at]
        if kind == "word" and text != "WARP_SZ":
            return self._word(opcode, index)
        if kind == "number" and cursor.texts[at + 1] in (",", ";"):
            cursor.at += 1
            if text[0] != "0":
                return number(
                    text
                )  # octal constants may be malformed, and then deserve the message of the general path
            cursor.at -= 1
        if text == "!" and cursor.kinds[at + 1] == "word":
            cursor.at += 1
            return Negated(self.register("a predicate register after '!'"))
        if text == "{":
            return self._vector()
        if cursor.starts_constant():
            if text == "-" and cursor.kinds[at + 1] == "word":
                raise cursor.error(
                    f"PTX has no negated operand -{cursor.texts[at + 1]}; expected a constant after '-'"
                )
            return cursor.constant()
        cursor.fail(f"an operand of {opcode!r}")

    def _word(self, opcode: str, index: int) -> Operand | None:
        """An operand that begins with a name: register, pair, special register, symbol, label."""
        cursor = self.cursor
        at = cursor.at
        text = cursor.texts[at]
        following = cursor.texts[at + 1]
        if following == "|":
            first = None if text == "_" else self.register("a register")
            cursor.at = at + 2
            second = None if cursor.accept("_") else self.register("a register after '|'")
            return PredicatePair(first, second)
        cursor.at += 1
        if text == "_":
            return None
        found = self.scope.find(text) if opcode not in BRANCHES or index or text[0] == "%" else None
        if isinstance(found, (Register, Vector)):
            return found
        if found is None and text in SPECIAL:
            return Special(text)
        if following == "[":
            return self._element(found, text, at)
        offset = cursor.integer("an offset") if following in ("+", "-") else 0
        if found is not None:
            return Symbol(found.name, offset)
        self._unknown(text, at, index)
        return Symbol(text, offset)

    def _unknown(self, text: str, token: int, operand: int = -1) -> None:
        """Notes a name that must turn out to be a label or a symbol of the module."""
        if "." in text or "::" in text:
            base = self.scope.find(text.partition(".")[0])
            if isinstance(base, Register):
                raise self.cursor.error(
                    f"part {text!r} of a register (a video instruction's operand) is not supported", token
                )
            raise self.cursor.error(
                f"{shown(text)} is not declared, and there is no such special register", token
            )
        self.uses.append(Use(text, self.scope, token, self.statement, operand))

    def _element(self, found: Symbol | None, text: str, token: int) -> Address:
        """`a[3]`: an element of an array, as an address. Only arrays of the function itself have a known
        element size here."""
        cursor = self.cursor
        cursor.expect("[")
        index = cursor.integer("a constant index")
        cursor.expect("]", "the index")
        if found is None:
            raise cursor.error(f"index of {text!r}: write the byte address [{text}+n] instead", token)
        return Address(Symbol(found.name, index * self.sizes[found.name]))

    def register(self, what: str) -> Register:
        """Steps over a register and returns it."""
        cursor = self.cursor
        if cursor.kind != "word":
            cursor.fail(what)
        found = self.scope.find(cursor.text)
        if not isinstance(found, Register):
            raise cursor.error(f"expected {what}; {shown(cursor.text)} is not a declared register")
        cursor.at += 1
        return found

    def _vector(self) -> Vector:
        """Reads `{a, b, _, 1}`."""
        cursor = self.cursor
        cursor.at += 1
        elements: list[Register | Immediate | None] = []
        while True:
            if cursor.accept("_"):
                elements.append(None)
            elif cursor.starts_constant():
                elements.append(cursor.constant())
            else:
                elements.append(self.register("a register, a constant or '_' in a vector"))
            if not cursor.accept(","):
                break
        cursor.expect("}", "a vector's elements")
        return Vector(tuple(elements))

    def _address(self, operands: list[Operand | None]) -> None:
        """Reads `[base+offset]`. Texture and tensor addresses `[t, {x, y}]` give one operand per part, for
        lowering to refuse."""
        cursor = self.cursor
        cursor.at += 1
        base: Register | Symbol | Immediate
        at = cursor.at
        if cursor.kinds[at] == "word":
            text = cursor.texts[at]
            found = self.scope.find(text)
            cursor.at += 1
            if isinstance(found, Vector):
                raise cursor.error(f"vector register {text!r} cannot be an address", at)
            if found is None:
                if text in SPECIAL:
                    raise cursor.error(
                        f"special register {text!r} cannot be an address; move it to a register first", at
                    )
                self._unknown(text, at)
            base = found or Symbol(text)
        elif cursor.starts_constant():
            base = cursor.constant()
        else:
            cursor.fail("a register, a symbol or a constant as address")
        offset = 0
        if cursor.accept("+"):
            offset = cursor.integer("a constant offset after '+'")
        elif cursor.texts[cursor.at] == "-":
            offset = cursor.integer("a constant offset")
        if isinstance(base, Register):
            operands.append(Address(base, offset))
        elif isinstance(base, Symbol):
            operands.append(Address(replace(base, offset=offset) if offset else base))
        else:
            operands.append(Address(Immediate(base.value + offset)))
        if cursor.accept(","):
            self.operand_list(operands, "address")
        if cursor.texts[cursor.at] != "]":
            cursor.fail("']' after the address")
        cursor.at += 1

    def call(self) -> Call:
        """Reads `(ret), function, (arguments), prototype`, all but the function optional."""
        cursor = self.cursor
        returns: tuple[str, ...] = ()
        if cursor.text == "(":
            listed = self._call_list("a return parameter", results=True)
            returns = tuple(item.name for item in listed if not isinstance(item, Immediate))
            cursor.expect(",", "the return parameters")
        token = cursor.at
        name = cursor.name("the function to call")
        function = self.scope.find(name)
        if isinstance(function, Vector):
            raise cursor.error(f"vector register {name!r} cannot be called", token)
        if function is None:
            function = Symbol(name)
            self.external_uses.append((name, token))
        arguments: tuple[Register | Immediate | Symbol, ...] = ()
        targets: tuple[str, ...] = ()
        if cursor.accept(","):
            if cursor.text == "(":
                arguments = self._call_list("an argument")
                if cursor.accept(","):
                    targets = self._prototype()
            else:
                targets = self._prototype()
        return Call(returns, function, arguments, targets)

    def _prototype(self) -> tuple[str, ...]:
        """Reads the name of a prototype or of a list of targets; returns that list."""
        token = self.cursor.at
        name = self.cursor.name("the name of a .callprototype or .calltargets")
        if self.scope.label(name) is None:
            self._unknown(name, token)  # it may be declared further down
        return self.scope.call_targets(name)

    def _call_list(self, what: str, *, results: bool = False) -> tuple[Register | Immediate | Symbol, ...]:
        """Reads `(a, b)`. Results are no constants; one that nobody needs is `_`."""
        cursor = self.cursor
        cursor.expect("(")
        found: list[Register | Immediate | Symbol] = []
        while not cursor.accept(")"):
            if found:
                cursor.expect(",", what)
            if results and cursor.accept("_"):
                found.append(Symbol("_"))
            elif cursor.kind == "word":
                item = self.scope.find(cursor.text)
                if item is None or isinstance(item, Vector):
                    raise cursor.error(f"{what} {shown(cursor.text)} is not declared")
                cursor.at += 1
                found.append(item)
            elif not results and cursor.starts_constant():
                found.append(cursor.constant())
            else:
                cursor.fail(what)
        return tuple(found)
