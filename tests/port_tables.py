"""The port tables of docs/units and docs/architecture.md, made from the "Members" sections of the docstrings
in hdl. `python -m tests.port_tables` brings the pages up to date.

A page marks the place of a table with a line `<!-- ports: warpbank.hdl.MODULE.CLASS -->` and a line
`<!-- end -->`; what stands between them is replaced. A member of a docstring is a line

    name, name : In(width) per collector, if `condition`. What it carries.

and the indented lines after it. Lines of another form (`those of `Flat`, and`) become sentences above the
table.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGES = (DOCS / "architecture.md", *sorted((DOCS / "units").glob("*.md")))
BLOCK = re.compile(r"(<!-- ports: ([\w.]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
#: What begins a member: its names, a colon, a direction.
NAMES = r"[a-z_]\w*(?:, [a-z_]\w*)*"
MEMBER = re.compile(rf"({NAMES}) : (?=In\b|Out\b)")
#: A member that stands behind another one on its line.
NEXT = re.compile(rf"(?<=\. )(?={NAMES} : (?:In\b|Out\b))")
#: A description that is kept in another class.
ELSEWHERE = re.compile(r"^[Aa]s in `([\w.]+)`")
#: Members that another class describes, all of them.
THOSE = re.compile(r"^those of `([\w.]+)`")
#: How a qualifier of the width begins; what begins otherwise describes the port.
QUALIFIER = re.compile(r"^(?:(?:per|if|with|where|unless|over|array of|an? (?:bit|stream|warp)|\d+)\b|`)")
EVENTS = re.compile(r"generate\s+`events`(?:\s+\(([^()]*)\))?")


@dataclass(frozen=True)
class Port:
    """Ports that one line of a docstring describes.

    names : of the members.
    direction : `in`, `out`, or one for each name.
    width : in bits or as the name of a signature.
    when : how many there are, and on which condition.
    text : what they carry.
    """

    names: tuple[str, ...]
    direction: str
    width: str
    when: str
    text: str

    @property
    def shape(self) -> str:
        """Width, how many, and on which condition."""
        joiner = " " if self.when.startswith("per ") else ", "
        return joiner.join(part for part in (self.width, self.when) if part)


def load(path: str) -> type:
    """The class of that dotted name."""
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    assert isinstance(found, type), path
    return found


def members(unit: type) -> str:
    """The "Members" section of a class, or that of the class it is made from."""
    for base in unit.__mro__:
        doc = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        if "Members\n-------\n" in doc:
            return doc.split("Members\n-------\n", 1)[1]
    return ""


def entries(unit: type) -> Iterator[str]:
    """The entries of the section, each as one line."""
    entry = ""
    for line in members(unit).splitlines():
        begins = not line or MEMBER.match(line) or THOSE.match(line) or re.match(r"-+$|Latency\b", line)
        if line.startswith(" ") or (entry and not MEMBER.match(entry) and not begins):
            entry += " " + line.strip()
            continue
        if entry:
            yield from NEXT.split(entry)
        entry = line
        if not line or re.match(r"-+$|Latency\b", line):
            return
    if entry:
        yield from NEXT.split(entry)


def _balanced(text: str) -> int:
    """Length of the parenthesis that begins the text; 0 if none does."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return place + 1 if place else 0
    raise ValueError(f"a parenthesis is not closed: {text}")


def _types(text: str) -> tuple[list[tuple[str, str]], str]:
    """(direction, width) of each type that begins the text, and the rest."""
    found = []
    while match := re.match(r"(?:, (?:and )?)?(In|Out)\b", text):
        text = text[match.end() :]
        end = _balanced(text) if text.startswith("(") else 0
        found.append((match[1].lower(), text[1 : end - 1] if end else ""))
        text = text[end:]
    return found, text


def _clause(text: str) -> tuple[str, str]:
    """The text up to its first full stop or colon outside of parentheses and code, and what follows."""
    depth = code = 0
    for place, sign in enumerate(text):
        code ^= sign == "`"
        depth += (sign == "(") - (sign == ")")
        if (
            not depth
            and not code
            and (sign == "." or sign == ":")
            and text[place + 1 : place + 2] in ("", " ")
        ):
            return text[:place], text[place + 1 :]
    return text, ""


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] if not text.startswith("...") else text


def port(entry: str) -> Port:
    """What an entry says."""
    match = MEMBER.match(entry)
    assert match is not None, entry
    types, rest = _types(entry[match.end() :])
    qualifier, text = _clause(rest.lstrip(", "))
    if qualifier and not QUALIFIER.match(qualifier):  # it describes the port
        qualifier, text = "", f"{qualifier}.{text}" if not text or rest.count(":") == 0 else rest.lstrip(", ")
    directions = [direction for direction, _ in types]
    given = [width or "-" for _, width in types]
    return Port(
        tuple(match[1].split(", ")),
        directions[0] if len(set(directions)) == 1 else ", ".join(directions),
        ", ".join(given) if any(width != "-" for width in given) else "",
        qualifier,
        _sentence(text),
    )


def _assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """What the local names of a class's functions stand for."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            found |= {name.id: given for name, given in pairs if isinstance(name, ast.Name)}
    return found


@cache
def widths(unit: type) -> dict[str, tuple[str, bool]]:
    """Widths that the code of a class gives its members, for those whose docstring names none; and whether a
    member is an array of signals of that width."""
    found: dict[str, tuple[str, bool]] = {}
    for base in unit.__mro__:
        if base.__module__.partition(".")[0] not in ("warpbank", "tests"):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        local = _assigned(tree)
        for node in ast.walk(tree):
            pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else []
            for key, value in pairs:
                match = re.fullmatch(r"(?:In|Out)\((.*?)\)(\.array\(.*\))*", ast.unparse(value))
                if isinstance(key, ast.Constant) and match is not None and match[1]:
                    text = ast.unparse(local[match[1]]) if match[1] in local else match[1]
                    text = re.sub(r"\b(?:self\._?|config\.|core\.|sub_core\.|shape\.)+", "", text)
                    text = re.sub(r"data\.ArrayLayout\((.*), (.*)\)", r"\2 x \1", text)
                    text = text.replace("(config)", "").replace(" * ", " x ")
                    found.setdefault(str(key.value), (text, match[2] is not None))
    return found


def _known(unit: type, given: Port) -> Port:
    """A port with the width that the code has, if the docstring has none."""
    if given.width or given.when.startswith(("a ", "an ", "`", *"0123456789")):
        return given
    members = [widths(unit).get(name, ("", False)) for name in given.names]
    code = [text for text, array in members if array or not given.when.startswith("per ")]
    if len(code) < len(members) or not all(code):
        return given
    return replace(given, width=code[0] if len(set(code)) == 1 else ", ".join(code))


def _found(unit: type, path: str) -> type:
    """The class that a docstring of `unit` names."""
    return load(path) if "." in path else getattr(inspect.getmodule(unit), path)


def ports(unit: type) -> list[Port]:
    """The ports of a class, in the order of its docstring."""
    found: list[Port] = []
    for entry in entries(unit):
        if not MEMBER.match(entry):
            continue
        given = _known(unit, port(entry))
        elsewhere = ELSEWHERE.match(given.when) or ELSEWHERE.match(given.text)
        if elsewhere is None:
            found.append(given)
            continue
        there = ports(_found(unit, elsewhere[1]))
        which = {name: known for known in there for name in known.names}
        for known, names in groupby(given.names, which.__getitem__):
            own = replace(known, names=tuple(names), direction=given.direction)
            if given.shape and not ELSEWHERE.match(given.when):
                own = replace(own, width=given.width, when=given.when)
            found.append(own)
    return found


def inherited(unit: type) -> Iterator[type]:
    """The classes whose members a docstring names as its own, and theirs."""
    for entry in entries(unit):
        match = THOSE.match(entry)
        if match is not None:
            found = _found(unit, match[1])
            yield found
            yield from inherited(found)


def events(unit: type) -> Port | None:
    """The port `events`, which a unit has that says so among its parameters."""
    for base in unit.__mro__:
        match = EVENTS.search(inspect.cleandoc(base.__dict__.get("__doc__") or ""))
        if match is not None:
            names = " ".join((match[1] or "").split())
            return Port(("events",), "out", "`Events`", "with `probe`", f"Reports {names}." if names else "")
    return None


def _linked(text: str, page: Path) -> str:
    """A sentence with links to the pages of the classes that it names."""

    def link(match: re.Match[str]) -> str:
        for other in PAGES:
            if f".{match[1]} -->" in other.read_text() and other != page:
                return f"[`{match[1]}`]({other.name})"
        return match[0]

    return re.sub(r"`(?:[a-z_]\w*\.)*([A-Z]\w*)`", link, text)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def table(unit: type, page: Path) -> str:
    """The port table of a class, as it stands on a page."""
    notes = [entry for entry in entries(unit) if entry and not MEMBER.match(entry)]
    rows = ports(unit)
    probe = events(unit)
    if probe is not None and not any("events" in row.names for row in rows):
        rows.append(probe)
    lines = [f"{_sentence(_linked(note, page))}\n" for note in notes]
    if rows:
        lines += ["| port | direction | width or signature | what it carries |", "|---|---|---|---|"]
    for row in rows:
        names = ", ".join(f"`{name}`" for name in row.names)
        lines.append(f"| {names} | {row.direction} | {_cell(row.shape)} | {_cell(row.text)} |")
    return "\n".join(lines) + "\n"


def marked(page: Path) -> list[type]:
    """The classes whose ports a page has."""
    return [load(path) for _, path, _, _ in BLOCK.findall(page.read_text())]


def updated(page: Path) -> str:
    """A page with its tables as the docstrings have them."""
    return BLOCK.sub(lambda match: match[1] + table(load(match[2]), page) + match[4], page.read_text())


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(updated(path))
