"""PTX parser of module-scope statements. LLVM, nvcc, Triton and Numba print the dialects it is meant for.

It knows the grammar, not the instruction set: any opcode is accepted here and judged by the lowering. What it
guarantees to the lowering is that every name an instruction uses is declared, that names are unique in their
function, and that the file is whole.
"""

from __future__ import annotations

import re

from warpbank.arch.errors import shown
from warpbank.program.errors import PtxError
from warpbank.program.ptx.ast import Function, Module, Variable
from warpbank.program.ptx.body import BodyParser
from warpbank.program.ptx.cursor import Cursor
from warpbank.program.ptx.declarations import linkage, parameters, starts_variable, variables
from warpbank.program.ptx.lexer import END, tokenize

_DIMENSIONS = (".maxntid", ".reqntid", ".reqnctapercluster")
_LIMITS = (
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".maxclusterrank",
    ".abi_preserve",
    ".abi_preserve_control",
)
_DECLARATIONS = (".entry", ".func", ".file", ".section", ".alias")
_FLAGS = (".explicitcluster", ".blocksareclusters", ".noreturn", ".unified", ".local_maxnreg")


def parse(text: str, path: str) -> Module:
    """Parses PTX.

    Parameters
    ----------
    text : the PTX file.
    path : its name, for messages.

    Raises
    ------
    PtxError : the text is not PTX, is cut off, or uses a name that it does not declare.
    """
    cursor = Cursor(tokenize(text, path))
    try:
        return _ModuleParser(cursor).parse()
    except RecursionError:
        raise PtxError(path, cursor.line, "expressions or braces are nested too deeply to be read") from None


class _ModuleParser:
    """Parses a file; `parse` may be called once."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.module = Module(cursor.tokens.path, "", "", 0, {}, {})
        self.uses: list[tuple[str, int]] = []

    def parse(self) -> Module:
        """The whole file."""
        cursor, module = self.cursor, self.module
        self._header()
        while cursor.kind != END:
            text = cursor.text
            if text in (".file", ".loc"):
                cursor.skip_line()
            elif text == ".section":
                self._section()
            elif text == ".pragma":
                cursor.skip_to_semicolon()
            elif text == ".address_size":
                self._address_size()
            elif text == ".target":
                self._target()
            elif text == ".alias":
                raise cursor.error(".alias is not supported; call the aliasee by its own name")
            elif text == ";":
                cursor.at += 1
            else:
                self._declaration()
        if not module.target:
            raise PtxError(module.path, cursor.line, "the file has no .target directive: it looks truncated")
        for name, token in self.uses:
            if name not in module.variables and name not in module.functions:
                raise cursor.error(f"{name!r} is used but not declared anywhere in the file", token)
        return module

    def _header(self) -> None:
        """`.version`, which every PTX file must begin with."""
        cursor = self.cursor
        if cursor.kind == END:
            raise PtxError(
                self.module.path, cursor.line, "the file is empty; a PTX file begins with .version"
            )
        if cursor.text != ".version":
            raise cursor.error(
                f"this is not PTX: a PTX file begins with .version, this one with {shown(cursor.text)}"
            )
        cursor.at += 1
        if cursor.kind != "number" or not re.fullmatch(r"\d+\.\d+", cursor.text):
            cursor.fail("a version such as 8.3 after .version")
        self.module.version = cursor.text
        cursor.at += 1

    def _target(self) -> None:
        """`.target sm_80, debug, texmode_independent`: the architecture is what matters."""
        cursor = self.cursor
        cursor.at += 1
        while True:
            name = cursor.name("a target such as sm_75")
            if name.startswith(("sm_", "compute_")) or not self.module.target:
                self.module.target = name
            if not cursor.accept(","):
                return

    def _address_size(self) -> None:
        cursor = self.cursor
        cursor.at += 1
        at = cursor.at
        self.module.address_size = cursor.integer("32 or 64 after .address_size")
        if self.module.address_size not in (32, 64):
            raise cursor.error(f"an address has 32 or 64 bits, not {self.module.address_size}", at)

    def _section(self) -> None:
        """Debug information: skipped."""
        cursor = self.cursor
        cursor.inside = f"the debug section opened at line {cursor.line}"
        cursor.at += 1
        while cursor.kind in ("directive", "word", "string") or cursor.text == ",":
            cursor.at += 1
        cursor.skip_block()
        cursor.inside = ""

    def _declaration(self) -> None:
        """A variable or function with its linkage."""
        cursor = self.cursor
        cursor.inside = f"the declaration begun at line {cursor.line}"
        if cursor.kind != "directive":
            cursor.fail("a directive such as .visible, .global or .entry")
        external = ".extern" in linkage(cursor)
        if cursor.text in (".entry", ".func"):
            self._function()
        elif starts_variable(cursor):
            for variable in variables(cursor, external):
                self._add_variable(variable)
        elif cursor.kind == "directive":
            raise cursor.error(f"unknown directive {shown(cursor.text)}")
        else:
            cursor.fail("a state space such as .global, .entry or .func")
        cursor.inside = ""

    def _add_variable(self, variable: Variable) -> None:
        """A declaration and its definition may both stand in a file; two definitions may not."""
        variables = self.module.variables
        before = variables.get(variable.name)
        if variable.name in self.module.functions or (
            before and not before.external and not variable.external
        ):
            raise PtxError(
                self.module.path, variable.line, f"{variable.name!r} is declared twice at module scope"
            )
        if before is None or before.external:
            variables[variable.name] = variable
        self.uses.extend((symbol.name, self.cursor.at - 1) for _, symbol, _ in variable.relocations)

    def _function(self) -> None:
        """`.entry name(...)` or `.func (...) name(...)`, with directives and perhaps a body."""
        cursor, module = self.cursor, self.module
        line = cursor.line
        entry = cursor.text == ".entry"
        cursor.at += 1
        while cursor.text == ".attribute":
            cursor.at += 1
            while not cursor.accept(")"):
                if cursor.kind == END:
                    cursor.fail("')'")
                cursor.at += 1
        returns = () if entry or cursor.text != "(" else parameters(cursor)
        at = cursor.at
        name = cursor.name("the name of the function")
        function = Function(name, entry, parameters(cursor) if cursor.text == "(" else (), returns, line)
        before = module.functions.get(name)
        if name in module.variables:
            raise cursor.error(f"function {name!r} has the name of a variable", at)
        self._directives(function)
        cursor.inside = f"function {name}, opened at line {cursor.line}"
        if cursor.text == "{":
            if before is not None and before.body is not None:
                raise cursor.error(
                    f"function {name!r} has two bodies; the first is at line {before.line}", at
                )
            module.functions[name] = function
            BodyParser(cursor, function, self.uses, self.module.variables).parse()
        else:
            if cursor.kind != "directive":  # old compilers end a prototype with nothing
                cursor.expect(";", "a function without a body")
            module.functions.setdefault(name, function)

    def _directives(self, function: Function) -> None:
        """Performance directives between a function's head and its body."""
        cursor = self.cursor
        while cursor.kind == "directive":
            name = cursor.text
            if name in _DIMENSIONS or name in _LIMITS:
                cursor.at += 1
                values = [cursor.integer(f"a number after {name}")]
                while cursor.accept(","):
                    values.append(cursor.integer(f"a number after {name}"))
                if name in _DIMENSIONS:
                    values += [1] * (3 - len(values))
                function.directives[name[1:]] = tuple(values)
            elif name == ".pragma":
                cursor.skip_to_semicolon()
            elif name in _FLAGS:
                cursor.at += 1
                function.directives[name[1:]] = ()
            elif name in _DECLARATIONS or starts_variable(cursor) or linkage(cursor, look=True):
                return
            else:
                raise cursor.error(f"unknown directive {name!r} in the head of function {function.name}")
