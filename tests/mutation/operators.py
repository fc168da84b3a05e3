"""Mutation operators: small semantic changes of a Python source, each at one place.

In hdl an expression may be Amaranth's: comparisons, `&`, `|`, `~` and the arms of `m.If` are changed there as
in plain Python. Docstrings, annotations, imports, decorators, messages of errors and assertions are left
alone, `strict=True` among them, which asserts that lists are as long as each other: they change no behaviour
that a test should pin.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

#: Kinds of mutants, as reports name them.
KINDS = ("comparison", "constant", "arm", "enable", "arithmetic", "priority", "off by one", "statement")

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.FloorDiv: "*",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitXor: "|",
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Calls that only put their argument into an order.
_ORDERS = ("reversed", "sorted")
#: Arms of an Amaranth module that have a condition.
_ARMS = ("If", "Elif")
#: Keywords that say nothing about values.
_NAMES = ("name", "src_loc_at", "reset_less", "stacklevel", "description")


@dataclass(frozen=True)
class Mutant:
    """One change of a source.

    Parameters
    ----------
    kind : one of `KINDS`.
    line : where it is, from 1.
    start, end : the replaced characters of the source.
    before, after : text there, and text in its place.
    """

    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """Name of the mutant that lasts while its line and the order of changes on it last."""
        text = f"{self.kind}\0{self.line}\0{self.start}\0{self.before}\0{self.after}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def applied(self, source: str) -> str:
        """The source with the change."""
        return source[: self.start] + self.after + source[self.end :]

    @property
    def change(self) -> str:
        """Text before and after, on one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{before}  ->  {after}"

    def __str__(self) -> str:
        return f"line {self.line}, {self.kind}: {self.change}"


class _Finder(ast.NodeVisitor):
    """Collects the mutants of a tree in the order of the source."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.found: list[Mutant] = []
        starts, at = [], 0
        for line in source.splitlines(keepends=True):
            starts.append(at)
            at += len(line)
        self._starts = starts
        self._lines = source.splitlines(keepends=True)

    def _place(self, line: int, column: int) -> int:
        """Index of the character at a line and a column in bytes of UTF-8."""
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self._source[start:end]

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _add(self, kind: str, node: ast.expr | ast.stmt, after: str) -> None:
        start, end = self._span(node)
        self.found.append(Mutant(kind, node.lineno, start, end, self._source[start:end], after))

    # What changes no behaviour.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
            self.visit(default)
        self._body(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._body(node.body)

    def visit_Module(self, node: ast.Module) -> None:
        self._body(node.body)

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Import(self, node: ast.Import) -> None:
        pass

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        pass

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    # Statements.

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        single = isinstance(node.test, ast.Compare) and len(node.test.ops) == 1
        if not single and not (isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)):
            self._add("arm", node.test, f"not ({self._text(node.test)})")  # else the condition's own mutant
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        swapped = f"{self._text(node.orelse)} if {self._text(node.test)} else {self._text(node.body)}"
        self._add("arm", node, f"({swapped})")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._add("statement", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add("statement", node, "pass")
        if not _is_domain(node.target):
            operator = _ARITHMETIC.get(type(node.op))
            if operator is not None:
                after = f"{self._text(node.target)} {operator}= {self._text(node.value)}"
                self._add("arithmetic", node, after)
        self.visit(node.value)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add("arm", node, "break")

    def visit_Break(self, node: ast.Break) -> None:
        self._add("arm", node, "continue")

    # Expressions.

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            left, right = self._text(node.left), self._text(node.comparators[0])
            self._add("comparison", node, f"({left} {_COMPARISONS[type(node.ops[0])]} {right})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        left, right = self._text(node.left), self._text(node.right)
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            self._add("enable", node, f"({left})")
            self._add("enable", node, f"({right})")
        elif type(node.op) in _ARITHMETIC and not _is_text(node):
            self._add("arithmetic", node, f"(({left}) {_ARITHMETIC[type(node.op)]} ({right}))")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        joint = " and " if isinstance(node.op, ast.And) else " or "
        for dropped in node.values:
            rest = joint.join(f"({self._text(each)})" for each in node.values if each is not dropped)
            self._add("enable", node, f"({rest})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.Invert):
            self._add("enable", node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self._add("off by one", node, str(node.value + 1))
            if node.value == 1:
                self._add("constant", node, "0")

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Name) and node.args:
            inside = ", ".join(self._text(each) for each in (*node.args,))
            if called.id in _CALLS and not node.keywords:
                self._add("comparison", node, f"{_CALLS[called.id]}({inside})")
            elif called.id in _ORDERS:
                self._add("priority", node, f"list({self._text(node.args[0])})")
            elif called.id == "range" and not node.keywords:
                *first, last = (self._text(each) for each in node.args[:2])
                rest = [self._text(each) for each in node.args[2:]]
                self._add("off by one", node, f"range({', '.join([*first, f'({last}) - 1', *rest])})")
        if isinstance(called, ast.Attribute) and called.attr in _ARMS and len(node.args) == 1:
            self._add("arm", node.args[0], f"({self._text(node.args[0])}) == 0")
            if called.attr == "Elif":
                self._add("priority", called, f"{self._text(called.value)}.If")
        self.visit(called)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in _NAMES and not _asserts(keyword):
                self.visit(keyword.value)


def _asserts(keyword: ast.keyword) -> bool:
    """Whether an argument only asserts: `strict=True`, that lists are as long as each other."""
    return keyword.arg == "strict" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True


def _is_domain(node: ast.expr) -> bool:
    """Whether statements are added to a domain of a module: `m.d.comb`."""
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "d"
    )


def _is_text(node: ast.BinOp) -> bool:
    """Whether texts are joined."""
    parts = (node.left, node.right)
    return any(
        isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in parts
    )


def changes(source: str) -> Iterator[Mutant]:
    """All different changes of a source, in its order, those included that make no program of it."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    seen = set()
    for mutant in sorted(finder.found, key=lambda each: (each.start, each.end, each.after)):
        text = mutant.applied(source)
        if text in seen:
            continue
        seen.add(text)
        yield mutant


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a source, in its order, each of which is a program."""
    for mutant in changes(source):
        try:
            ast.parse(mutant.applied(source))
        except SyntaxError:
            continue
        yield mutant
