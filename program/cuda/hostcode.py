"""Host code in a CUDA source: where its functions are, which of the compiler's errors lie in them, and the
source without them."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path

#: Headers of libraries that run on the host; without them device code is as before.
HOST_LIBRARIES = (
    r"(cublas|cusparse|cusolver|cufft|curand|cudnn|nccl|nvml|nvrtc|npp|nvToolsExt|nvtx3/|helper_|opencv|GL/|"
    r"mpi\.h|omp\.h|png\.h|gtest/|boost/|Eigen/)"
)

_ERROR = re.compile(r"^(.+?):(\d+):\d+: (?:fatal )?error: (.*)$")
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^\s()\\]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|^[ \t]*\#(?:\\\n|[^\n])*|[{};]""",
    re.S | re.M,
)
_SCOPE = re.compile(r"\b(namespace|class|struct|union)\b|\bextern\s*\"C(\+\+)?\"\s*$")
_DEVICE = re.compile(r"__global__|__device__|\b(global|device)\b\s*\)\)")
_NAME = re.compile(r"([~\w:]+)\s*\(")


@dataclass(frozen=True)
class Failure:
    """One error of the compiler.

    Parameters
    ----------
    path, line, message : what it said, and of which line.
    mine : whether the line is in the source itself, not in a header.
    """

    path: str
    line: int
    message: str
    mine: bool


@dataclass(frozen=True)
class HostFunction:
    """A function with a body and without a device attribute.

    Parameters
    ----------
    name : as it is written.
    first, last : its lines, counted from 1.
    begin, start, end : offsets into the text of its declaration, its body between the braces, and the brace
        that closes it.
    """

    name: str
    first: int
    last: int
    begin: int
    start: int
    end: int


def failures(said: str, source: Path) -> list[Failure]:
    """The errors in what the compiler said about `source`."""
    found = (_ERROR.match(line) for line in said.splitlines())
    own = os.path.normpath(source)
    return [Failure(m[1], int(m[2]), m[3], os.path.normpath(m[1]) == own) for m in found if m]


def host_functions(text: str) -> list[HostFunction]:
    """Host functions of a source, outermost ones and members of classes and namespaces.

    The text is read token by token, without macros: a function made by a macro is not found.
    """
    lines = [0, *(m.end() for m in re.finditer("\n", text))]
    functions: list[HostFunction] = []
    # For each open brace: where the declaration before it starts, where its inside starts, what it is.
    braces: list[tuple[int, int, str]] = []
    start = 0
    blank = list(text)
    for token in _TOKEN.finditer(text):
        kind = token.group()
        inside = any(what == "body" for _, _, what in braces)
        if kind == "{":
            head = "".join(blank[start : token.start()])
            what = "body" if inside or not (_SCOPE.search(head) and "(" not in _plain(head)) else "scope"
            braces.append((start, token.end(), what))
            if what == "scope":
                start = token.end()
        elif kind == "}":
            if braces:
                first, body, what = braces.pop()
                if what == "body" and not any(w == "body" for _, _, w in braces):
                    head = "".join(blank[first:body])
                    name = _NAME.search(_plain(head))
                    if name and not _DEVICE.search(head):
                        at = first + len(head) - len(head.lstrip())
                        functions.append(
                            HostFunction(
                                name[1],
                                bisect_right(lines, at),
                                bisect_right(lines, token.start()),
                                at,
                                body,
                                token.start(),
                            )
                        )
            if not any(w == "body" for _, _, w in braces):
                start = token.end()
        elif kind == ";":
            if not inside:
                start = token.end()
        elif not kind.startswith(('"', "'", "R")):
            blank[token.start() : token.end()] = re.sub(r"[^\n]", " ", kind)
    return functions


def emptied(text: str, lines: list[int]) -> tuple[str | None, list[HostFunction]]:
    """A source with its host functions around some lines emptied, line by line as long as before.

    A function that is wrong before its body, or was emptied before, goes as a whole.

    Parameters
    ----------
    text : the source.
    lines : numbers of the lines that may not stay.

    Returns
    -------
    The new text, None if one of the lines is in no host function, and the functions that were emptied.
    """
    left_out: dict[HostFunction, bool] = {}
    functions = host_functions(text)
    for line in lines:
        here = [f for f in functions if f.first <= line <= f.last]
        if not here:
            return None, []
        for function in here:
            body = text[function.start : function.end]
            brace = text.count("\n", 0, function.start) + 1
            whole = line < brace or not body.strip()
            left_out[function] = left_out.get(function, False) or whole
    for function, whole in left_out.items():
        start, end = (function.begin, function.end + 1) if whole else (function.start, function.end)
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text, list(left_out)


def _plain(head: str) -> str:
    """A declaration's head without the arguments of its template and its attributes."""
    head = re.sub(r"\btemplate\s*<[^{};]*?>\s*(?=\w)", "", head)
    return re.sub(r"__attribute__\s*\(\(.*?\)\)|__\w+__\s*\([^()]*\)", "", head)
