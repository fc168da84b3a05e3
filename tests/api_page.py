"""The parts of docs/api.md that come from docstrings. `python -m tests.api_page` brings the page up to
date."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from warpbank import api, errors, results
from warpbank.studies.compare import Comparison
from warpbank.studies.explore import Exploration
from warpbank.studies.sweep import Sweep

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
FUNCTIONS = (
    "run",
    "compare",
    "sweep",
    "explore",
    "compile",
    "lockstep",
    "kernels",
    "schemes",
    "presets",
    "load",
)
RESULTS = (
    results.Run,
    Comparison,
    Sweep,
    results.SweepResult,
    Exploration,
    results.Lockstep,
    results.Ptx,
    results.PtxKernel,
    results.Listing,
    results.KernelInfo,
    results.SchemeInfo,
    results.PresetInfo,
)
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^:]*?) : (.*?)(?=^\S[^:]*? : |\Z)", re.MULTILINE | re.DOTALL)


def sections(subject: Any) -> dict[str, str]:
    """Sections of a docstring by title; "" is what stands before the first."""
    first, *rest = _SECTION.split(inspect.getdoc(subject) or "")
    return {"": first.strip(), **dict(zip(rest[::2], (text.strip("\n") for text in rest[1::2]), strict=True))}


def entries(text: str) -> dict[str, str]:
    """`names : meaning` of a section, each on one line, and the paragraph after them left out."""
    found: dict[str, str] = {}
    for names, meaning in _ENTRY.findall(text):
        meaning = meaning.partition("\n\n")[0]
        found[names] = " ".join(meaning.split())
    return found


def signature(function: Any) -> str:
    """A function's signature as one writes it, a parameter a line if it is long."""
    made = inspect.signature(function)
    parts, starred = [], False
    for parameter in made.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parts.append(f"{parameter.name}: {parameter.annotation}{default}")
    line = f"{function.__name__}({', '.join(parts)}) -> {made.return_annotation}"
    if len(line) <= 90:
        return line
    lines = "".join(f"    {part},\n" for part in parts)
    return f"{function.__name__}(\n{lines}) -> {made.return_annotation}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *(tuple(map(_cell, row)) for row in rows)]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def _meanings(text: str) -> dict[str, str]:
    """Every name of a section's entries by itself."""
    return {name.strip(): meaning for names, meaning in entries(text).items() for name in names.split(",")}


def _function(name: str) -> str:
    function = getattr(api, name)
    doc = sections(function)
    made = f"### {name}\n\n{doc['']}\n\n```py\n{signature(function)}\n```\n\n"
    if "Parameters" in doc:
        meanings = _meanings(doc["Parameters"])
        assert list(meanings) == list(inspect.signature(function).parameters), name
        rows = [(f"`{parameter}`", meaning) for parameter, meaning in meanings.items()]
        made += _table(("parameter", "meaning"), rows) + "\n"
    for kind, meaning in entries(doc.get("Returns", "")).items():
        made += f"Returns `{kind}`: {meaning}\n\n"
    if "Raises" in doc:
        rows = [
            (", ".join(f"`{each.strip()}`" for each in kinds.split(",")), meaning)
            for kinds, meaning in entries(doc["Raises"]).items()
        ]
        made += _table(("raises", "where"), rows) + "\n"
    return made


def _members(kind: type) -> Iterator[tuple[str, str, str]]:
    """(name, type, meaning) of the fields and properties of a dataclass."""
    meanings = _meanings(sections(kind).get("Parameters", ""))
    for spec in dataclasses.fields(kind):
        yield spec.name, str(spec.type), meanings[spec.name]
    for name, member in vars(kind).items():
        if isinstance(member, property) and not name.startswith("_"):
            text = " ".join((inspect.getdoc(member) or "").split())
            yield name, str(inspect.signature(member.fget).return_annotation), text


def _methods(kind: type) -> Iterator[tuple[str, str]]:
    """(call, meaning) of the methods of a class."""
    for name, member in vars(kind).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            yield signature(member), " ".join(sections(member)[""].split())


def _result(kind: type) -> str:
    made = f"### {kind.__name__}\n\n{sections(kind)['']}\n\n"
    rows = [(f"`{name}`", f"`{type_}`", meaning) for name, type_, meaning in _members(kind)]
    made += _table(("attribute", "type", "meaning"), rows) + "\n"
    methods = [(f"`{call}`", meaning) for call, meaning in _methods(kind)]
    return made + (_table(("method", "meaning"), methods) + "\n" if methods else "")


def _errors() -> str:
    root = errors.WarpbankError
    rows = []
    for kind in (root, *(getattr(errors, name) for name in errors.__all__ if name != root.__name__)):
        also = "yes" if issubclass(kind, ValueError) else ""
        rows.append((f"`{kind.__name__}`", also, str(kind.exit_code), " ".join(sections(kind)[""].split())))
    return _table(("error", "also a `ValueError`", "exit code", "what is wrong"), rows)


def generated() -> dict[str, str]:
    """Every generated part by name."""
    return {
        "functions": "".join(map(_function, FUNCTIONS)),
        "results": "".join(map(_result, RESULTS)),
        "errors": _errors(),
    }


def updated(page: str) -> str:
    """The page with its generated parts replaced."""
    made = {name: re.sub(r"docs/(\w+)\.md", r"[\1](\1.md)", part) for name, part in generated().items()}
    return BLOCK.sub(lambda match: match[1] + made[match[2]] + match[4], page)


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text()))
