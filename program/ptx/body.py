"""Function body parser: scopes, labels, guards, instructions and their operands."""

from __future__ import annotations

from dataclasses import replace

from warpbank.arch.errors import shown
from warpbank.program.ptx.ast import (
    BranchTargets,
    Function,
    Instruction,
    Label,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from warpbank.program.ptx.cursor import Cursor
from warpbank.program.ptx.declarations import REGISTER_TYPES, TYPE_BYTES, linkage, starts_variable, variables
from warpbank.program.ptx.operands import BRANCHES, OperandParser, Use
from warpbank.program.ptx.scope import Scope

#: A register range `%r<n>` is expanded; a file that asks for more than this is wrong.
_MAX_REGISTERS = 1 << 20


class BodyParser(OperandParser):
    """Parser of one function's body.

    Parameters
    ----------
    cursor : stands at the `{`.
    function : gets its registers, variables and statements from here.
    external_uses : receives (name, token index) of every name that must be a variable or function of the
        module.
    module_variables : receives the function's .global and .const variables, which live as long as the
        module's, under the name FUNCTION.NAME.
    """

    def __init__(
        self,
        cursor: Cursor,
        function: Function,
        external_uses: list[tuple[str, int]],
        module_variables: dict[str, Variable],
    ) -> None:
        super().__init__(cursor, external_uses)
        self.function = function
        self.module_variables = module_variables
        self.names = self.scope.names
        self.body: list[Label | BranchTargets | Instruction] = []
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
        """Makes a variable or parameter known in the current scope. Its record already has its unique
        name."""
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
                written = variable.name.partition("#")[0]
                if variable.space in ("global", "const") and not variable.external:
                    variable = self._hoisted(variable)
                else:
                    self.function.variables.append(variable)
                self.scope.values[written] = Symbol(variable.name)
                self.sizes[variable.name] = TYPE_BYTES[variable.type]
                self.external_uses.extend((symbol.name, at) for _, symbol, _ in variable.relocations)
        elif text in (".branchtargets", ".callprototype", ".calltargets"):
            raise cursor.error(f"{text} needs a label in front of it")
        else:
            raise cursor.error(f"unknown directive {shown(text)} in a function body")

    def _hoisted(self, variable: Variable) -> Variable:
        """A .global or .const variable of the function as one of the module. The dot keeps its name apart
        from every name that PTX can write. Its initial value may hold addresses of the function's own
        variables."""
        relocations = []
        for offset, symbol, size in variable.relocations:
            known = self.scope.find(symbol.name)
            name = known.name if isinstance(known, Symbol) else symbol.name
            relocations.append((offset, replace(symbol, name=name), size))
        name = f"{self.function.name}.{variable.name}"
        hoisted = replace(variable, name=name, relocations=tuple(relocations))
        self.module_variables[name] = hoisted
        return hoisted

    def _registers(self) -> None:
        """Reads `.reg .b32 %r<10>, a, b;` and vector registers, whose elements become registers v.x, v.y,
        ..."""
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
                    raise cursor.error(
                        f"{count} registers {name}; at most {_MAX_REGISTERS} can be declared", token
                    )
                if len(self.function.registers) + count > _MAX_REGISTERS:
                    raise cursor.error(
                        f"more than {_MAX_REGISTERS} registers in one function; that many can be declared",
                        token,
                    )
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
                self.uses.append(Use(target, self.scope, first + 2 * offset, len(self.body), offset))
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
            raise cursor.error(
                f"guard {name!r} is a .{self.function.registers[register.name]} register, not a .pred one",
                token,
            )
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
        self.statement = len(self.body)
        operands: list[Operand | None] = []
        if opcode == "call":
            operands.append(self.call())
        elif cursor.texts[cursor.at] != ";":
            self.operand_list(operands, opcode)
        if cursor.texts[cursor.at] != ";":
            cursor.fail(
                f"',' or ';' after an operand of {opcode!r}"
                if operands
                else f"an operand of {opcode!r} or ';'"
            )
        text = cursor.tokens.slice(first, cursor.at)
        cursor.at += 1
        self.body.append(Instruction(opcode, tuple(modifiers), tuple(operands), guard, line, text))

    # Names used before they are declared

    def _settle(self) -> None:
        """Gives branches the unique names of their labels; what is no label must be a symbol of the
        module."""
        for use in self.uses:
            label = use.scope.label(use.name)
            statement = self.body[use.statement] if use.statement < len(self.body) else None
            if isinstance(statement, BranchTargets):
                if label is None:
                    raise self._no_label(use)
                labels = statement.labels
                self.body[use.statement] = replace(
                    statement, labels=(*labels[: use.operand], label, *labels[use.operand + 1 :])
                )
            elif (
                isinstance(statement, Instruction)
                and label is not None
                and statement.opcode in (*BRANCHES, "call")
            ):
                if label != use.name and use.operand >= 0:
                    operands = statement.operands
                    self.body[use.statement] = replace(
                        statement,
                        operands=(*operands[: use.operand], Symbol(label), *operands[use.operand + 1 :]),
                    )
            elif isinstance(statement, Instruction) and statement.opcode in BRANCHES:
                raise self._no_label(use)
            else:
                self.external_uses.append((use.name, use.token))

    def _no_label(self, use: Use) -> Exception:
        function = self.function.name
        return self.cursor.error(
            f"label {use.name!r} is not defined in function {function} (or not in this scope)", use.token
        )
