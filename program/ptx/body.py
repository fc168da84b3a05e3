"""Function bodies: scopes, labels, guards, instructions and their operands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from program.ptx.ast import (
    Address,
    BranchTargets,
    Call,
    Function,
    Immediate,
    Instruction,
    Label,
    Negated,
    Operand,
    PredicatePair,
    Register,
    Special,
    Symbol,
    Variable,
    Vector,
)
from program.ptx.cursor import Cursor, number
from program.ptx.declarations import REGISTER_TYPES, TYPE_BYTES, linkage, starts_variable, variables
from program.ptx.scope import SPECIAL, Names, Scope

_BRANCHES = ("bra", "brx")
#: A register range `%r<n>` is expanded; a file that asks for more than this is wrong.
_MAX_REGISTERS = 1 << 20


@dataclass(slots=True)
class _Use:
    """A name that no declaration before it explains: a label, or a symbol of the module. Settled when all of them are known."""

    name: str
    scope: Scope
    token: int
    statement: int = -1
    operand: int = -1


class BodyParser:
    """Parses one function's body.

    Parameters
    ----------
    cursor : stands at the `{`.
    function : gets its registers, variables and statements from here.
    external_uses : receives (name, token index) of every name that must be a variable or function of the module.
    """

    def __init__(self, cursor: Cursor, function: Function, external_uses: list[tuple[str, int]]) -> None:
        self.cursor = cursor
        self.function = function
        self.external_uses = external_uses
        self.names = Names()
        self.scope = Scope(self.names, None)
        self.body: list[Label | BranchTargets | Instruction] = []
        self.uses: list[_Use] = []
        self.sizes: dict[str, int] = {}
        for parameter in (*function.returns, *function.parameters):
            if parameter.name != "_":
                self._declare(parameter)

    def parse(self) -> None:
        """Reads `{ ... }` into the function."""
        cursor = self.cursor
        cursor.expect("{")
        depth = 1
        while depth:
            kind, text = cursor.kinds[cursor.at], cursor.texts[cursor.at]
            if kind == "word":
                if cursor.texts[cursor.at + 1] == ":":
                    self._label()
                else:
                    self._instruction(None, cursor.at)
            elif text == "@":
                self._guarded()
            elif text == "{":
                cursor.at += 1
                self.scope = Scope(self.names, self.scope)
                depth += 1
            elif text == "}":
                cursor.at += 1
                self.scope = self.scope.parent or self.scope
                depth -= 1
            elif text == ";":
                cursor.at += 1  # inline assembly often ends in a semicolon of its own
            elif kind == "directive":
                self._directive()
            else:
                cursor.fail("an instruction, a label, a declaration or '}'")
        self._settle()
        self.function.body = list(self.body)

    # Declarations

    def _declare(self, variable: Variable) -> None:
        """Makes a variable or parameter known in the current scope. Its record already has its unique name."""
        written = variable.name.partition("#")[0]
        if "#" not in variable.name:
            self.names.unique(written)
        if variable.space == "reg":
            self.function.registers[variable.name] = variable.type
            self.scope.values[written] = Register(variable.name)
        else:
            self.scope.values[written] = Symbol(variable.name)
            self.sizes[variable.name] = TYPE_BYTES[variable.type]

    def _fresh(self, name: str, token: int) -> str:
        """A unique name for `name`, declared here and now; refused if the same scope already has it."""
        if name in self.scope.values or name in self.scope.labels:
            raise self.cursor.error(f"{name!r} is declared twice in the same scope", token)
        return self.names.unique(name)

    def _directive(self) -> None:
        cursor = self.cursor
        external = ".extern" in linkage(cursor)
        text = cursor.text
        if text == ".reg":
            self._registers()
        elif text == ".loc":
            cursor.skip_line()
        elif text == ".pragma":
            cursor.skip_to_semicolon()
        elif starts_variable(cursor):
            at = cursor.at
            for variable in variables(cursor, external, lambda name: self._fresh(name, at)):
                self.function.variables.append(variable)
                written = variable.name.partition("#")[0]
                self.scope.values[written] = Symbol(variable.name)
                self.sizes[variable.name] = TYPE_BYTES[variable.type]
                self.external_uses.extend((symbol.name, at) for _, symbol, _ in variable.relocations)
        elif text in (".branchtargets", ".callprototype", ".calltargets"):
            raise cursor.error(f"{text} needs a label in front of it")
        else:
            raise cursor.error(f"unknown directive {text!r} in a function body")

    def _registers(self) -> None:
        """Reads `.reg .b32 %r<10>, a, b;` and vector registers, whose elements become registers v.x, v.y, ..."""
        cursor = self.cursor
        cursor.at += 1
        width = int(cursor.text[2:]) if cursor.text in (".v2", ".v4") else 0
        cursor.at += bool(width)
        kind = cursor.text[1:]
        if cursor.kind != "directive" or kind not in REGISTER_TYPES:
            cursor.fail("a register type such as .b32 or .pred")
        cursor.at += 1
        while True:
            token = cursor.at
            name = cursor.name("a register name")
            written = [name]
            if cursor.accept("<"):
                count = cursor.integer("the number of registers")
                cursor.expect(">", "the number of registers")
                if not 0 <= count <= _MAX_REGISTERS:
                    raise cursor.error(f"{count} registers {name}; at most {_MAX_REGISTERS} can be declared", token)
                written = [f"{name}{index}" for index in range(count)]
            for each in written:
                unique = self._fresh(each, token)
                elements = [f"{unique}.{axis}" for axis in "xyzw"[:width]]
                for register in elements or [unique]:
                    self.function.registers[register] = kind
                if elements:
                    self.scope.values[each] = Vector(tuple(Register(register) for register in elements))
                    for axis, register in zip("xyzw", elements, strict=False):
                        self.scope.values[f"{each}.{axis}"] = Register(register)
                else:
                    self.scope.values[each] = Register(unique)
            if not cursor.accept(","):
                break
        cursor.expect(";", "the register declaration")

    def _label(self) -> None:
        """Reads `name:` and what only exists behind a name: .branchtargets, .callprototype, .calltargets."""
        cursor = self.cursor
        token = cursor.at
        line = cursor.line
        name = cursor.name("a label")
        unique = self._fresh(name, token)
        self.scope.labels[name] = unique
        cursor.expect(":")
        if cursor.accept(".callprototype"):
            cursor.skip_to_semicolon()
        elif cursor.accept(".calltargets"):
            self.scope.targets[name] = self._name_list(external=True)
        elif cursor.accept(".branchtargets"):
            first = cursor.at
            targets = self._name_list(external=False)
            for offset, target in enumerate(targets):
                self.uses.append(_Use(target, self.scope, first + 2 * offset, len(self.body), offset))
            self.body.append(BranchTargets(unique, targets, line))
        else:
            self.body.append(Label(unique, line))

    def _name_list(self, external: bool) -> tuple[str, ...]:
        """Reads `a, b, c;`, of functions (external) or labels."""
        cursor = self.cursor
        found = []
        while True:
            if external:
                self.external_uses.append((cursor.text, cursor.at))
            found.append(cursor.name("a function name" if external else "a label"))
            if not cursor.accept(","):
                break
        cursor.expect(";", "the list")
        return tuple(found)

    # Instructions

    def _guarded(self) -> None:
        """Reads `@p` or `@!p` and the instruction behind it."""
        cursor = self.cursor
        first = cursor.at
        cursor.at += 1
        negated = cursor.accept("!")
        token = cursor.at
        name = cursor.name("a predicate register after '@'")
        register = self.scope.find(name)
        if not isinstance(register, Register):
            raise cursor.error(f"guard {name!r} is not a declared register", token)
        if self.function.registers[register.name] != "pred":
            raise cursor.error(f"guard {name!r} is a .{self.function.registers[register.name]} register, not a .pred one", token)
        if cursor.kind != "word":
            cursor.fail("an instruction after the guard")
        self._instruction((register.name, negated), first)

    def _instruction(self, guard: tuple[str, bool] | None, first: int) -> None:
        cursor = self.cursor
        line = cursor.tokens.line(first)
        opcode, *modifiers = cursor.texts[cursor.at].split(".")
        cursor.at += 1
        while cursor.kinds[cursor.at] == "directive":
            modifiers.append(cursor.text[1:])
            cursor.at += 1
        operands: list[Operand | None] = []
        if opcode == "call":
            operands.append(self._call())
        elif cursor.texts[cursor.at] != ";":
            self._operand_list(operands, opcode)
        if cursor.texts[cursor.at] != ";":
            cursor.fail(f"',' or ';' after an operand of {opcode!r}" if operands else f"an operand of {opcode!r} or ';'")
        text = cursor.tokens.slice(first, cursor.at)
        cursor.at += 1
        self.body.append(Instruction(opcode, tuple(modifiers), tuple(operands), guard, line, text))

    def _operand_list(self, operands: list[Operand | None], opcode: str) -> None:
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
        if kind == "word":
            return self._word(opcode, index)
        if kind == "number" and cursor.texts[at + 1] in (",", ";"):
            cursor.at += 1
            if text[0] != "0":
                return number(text)  # octal constants may be malformed, and then deserve the message of the general path
            cursor.at -= 1
        if text == "!" and cursor.kinds[at + 1] == "word":
            cursor.at += 1
            return Negated(self._register("a predicate register after '!'"))
        if text == "{":
            return self._vector()
        if cursor.starts_constant():
            if text == "-" and cursor.kinds[at + 1] == "word":
                raise cursor.error(f"PTX has no negated operand -{cursor.texts[at + 1]}; expected a constant after '-'")
            return cursor.constant()
        cursor.fail(f"an operand of {opcode!r}")

    def _word(self, opcode: str, index: int) -> Operand | None:
        """An operand that begins with a name: register, pair, special register, symbol, label."""
        cursor = self.cursor
        at = cursor.at
        text = cursor.texts[at]
        following = cursor.texts[at + 1]
        if following == "|":
            first = None if text == "_" else self._register("a register")
            cursor.at = at + 2
            second = None if cursor.accept("_") else self._register("a register after '|'")
            return PredicatePair(first, second)
        cursor.at += 1
        if text == "_":
            return None
        found = self.scope.find(text) if opcode not in _BRANCHES or index or text[0] == "%" else None
        if isinstance(found, (Register, Vector)):
            return found
        if found is None and text in SPECIAL:
            return Special(text)
        if text == "WARP_SZ":
            return Immediate(32)
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
                raise self.cursor.error(f"part {text!r} of a register (a video instruction's operand) is not supported", token)
            raise self.cursor.error(f"{text!r} is not declared, and there is no such special register", token)
        self.uses.append(_Use(text, self.scope, token, len(self.body), operand))

    def _element(self, found: Symbol | None, text: str, token: int) -> Address:
        """`a[3]`: an element of an array, as an address. Only arrays of the function itself have a known element size here."""
        cursor = self.cursor
        cursor.expect("[")
        index = cursor.integer("a constant index")
        cursor.expect("]", "the index")
        if found is None:
            raise cursor.error(f"index of {text!r}: write the byte address [{text}+n] instead", token)
        return Address(Symbol(found.name, index * self.sizes[found.name]))

    def _register(self, what: str) -> Register:
        cursor = self.cursor
        if cursor.kind != "word":
            cursor.fail(what)
        found = self.scope.find(cursor.text)
        if not isinstance(found, Register):
            raise cursor.error(f"expected {what}; {cursor.text!r} is not a declared register")
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
                elements.append(self._register("a register, a constant or '_' in a vector"))
            if not cursor.accept(","):
                break
        cursor.expect("}", "a vector's elements")
        return Vector(tuple(elements))

    def _address(self, operands: list[Operand | None]) -> None:
        """Reads `[base+offset]`. Texture and tensor addresses `[t, {x, y}]` give one operand per part, for lowering to refuse."""
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
                    raise cursor.error(f"special register {text!r} cannot be an address; move it to a register first", at)
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
            self._operand_list(operands, "address")
        if cursor.texts[cursor.at] != "]":
            cursor.fail("']' after the address")
        cursor.at += 1

    def _call(self) -> Call:
        """Reads `(ret), function, (arguments), prototype`, all but the function optional."""
        cursor = self.cursor
        returns: tuple[str, ...] = ()
        if cursor.text == "(":
            returns = tuple(item.name for item in self._call_list("a return parameter") if not isinstance(item, Immediate))
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

    def _call_list(self, what: str) -> tuple[Register | Immediate | Symbol, ...]:
        """Reads `(a, b)`."""
        cursor = self.cursor
        cursor.expect("(")
        found: list[Register | Immediate | Symbol] = []
        while not cursor.accept(")"):
            if found:
                cursor.expect(",", what)
            if cursor.kind == "word":
                item = self.scope.find(cursor.text)
                if item is None or isinstance(item, Vector):
                    raise cursor.error(f"{what} {cursor.text!r} is not declared")
                cursor.at += 1
                found.append(item)
            elif cursor.starts_constant():
                found.append(cursor.constant())
            else:
                cursor.fail(what)
        return tuple(found)

    # Names used before they are declared

    def _settle(self) -> None:
        """Gives branches the unique names of their labels; what is no label must be a symbol of the module."""
        for use in self.uses:
            label = use.scope.label(use.name)
            statement = self.body[use.statement] if use.statement < len(self.body) else None
            if isinstance(statement, BranchTargets):
                if label is None:
                    raise self._no_label(use)
                labels = statement.labels
                self.body[use.statement] = replace(statement, labels=(*labels[: use.operand], label, *labels[use.operand + 1 :]))
            elif isinstance(statement, Instruction) and label is not None and statement.opcode in (*_BRANCHES, "call"):
                if label != use.name and use.operand >= 0:
                    operands = statement.operands
                    self.body[use.statement] = replace(
                        statement, operands=(*operands[: use.operand], Symbol(label), *operands[use.operand + 1 :])
                    )
            elif isinstance(statement, Instruction) and statement.opcode in _BRANCHES:
                raise self._no_label(use)
            else:
                self.external_uses.append((use.name, use.token))

    def _no_label(self, use: _Use) -> Exception:
        function = self.function.name
        return self.cursor.error(f"label {use.name!r} is not defined in function {function} (or not in this scope)", use.token)
