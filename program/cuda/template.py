"""Launch templates: the launch description of a PTX module as far as the signatures of its kernels tell it,
to be completed by hand (docs/launch.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from warpbank.program.cuda.names import find, plain_name, source_name
from warpbank.program.ptx.ast import Function, Module, Variable
from warpbank.program.texture_tables import texture_variables

#: Element types of launch descriptions, by what C++ calls them.
_ELEMENTS: Mapping[str, str] = {
    "float": "f32", "double": "f64", "half": "f16", "__half": "f16", "int": "s32", "signed": "s32",
    "signed int": "s32", "unsigned": "u32", "unsigned int": "u32", "uint": "u32", "char": "s8",
    "signed char": "s8", "unsigned char": "u8", "uchar": "u8", "bool": "u8", "short": "s16",
    "unsigned short": "u16", "ushort": "u16", "long": "s64", "long long": "s64", "unsigned long": "u64",
    "unsigned long long": "u64", "int8_t": "s8", "uint8_t": "u8", "int16_t": "s16", "uint16_t": "u16",
    "int32_t": "s32", "uint32_t": "u32", "int64_t": "s64", "uint64_t": "u64", "size_t": "u64",
    "float2": "f32", "float3": "f32", "float4": "f32", "double2": "f64", "int2": "s32", "int4": "s32",
    "uint2": "u32", "uint4": "u32", "uchar4": "u8",
}  # fmt: skip

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_KERNEL = re.compile(
    r"(?:\btemplate\s*<(?P<template>[^{};()]*?)>\s*)?(?:extern\s+\"C\"\s*)?(?:static\s+|inline\s+)*"
    r"__global__[^;{}()]*?(?:__launch_bounds__\s*\([^()]*\)\s*)?(?:\w+\s+)*?(?P<name>(?!__launch_bounds__)\w+)\s*\((?P<list>[^(){};]*)\)"
)


@dataclass(frozen=True)
class _Parameter:
    """A parameter as the source has it: its type without `const`, its name, and what the type says."""

    type: str
    name: str
    pointer: bool
    constant: bool


def launch_template(module: Module, file: str, source: str = "") -> str:
    """The text of a launch description, every kernel launched once.

    Parameters
    ----------
    module : the PTX.
    file : name of the PTX file, for the first line.
    source : the CUDA source that it was made of, for the names and types of parameters; "": not known.
    """
    kernels = [f for f in module.functions.values() if f.entry and f.body is not None]
    known = _signatures(source)
    buffers: list[str] = []
    launches: list[str] = []
    taken: set[str] = set()
    for texture in texture_variables(module):
        _texture(plain_name(texture), buffers, taken)
    for kernel in kernels:
        parameters = _parameters(kernel, known)
        arguments = [
            _argument(variable, parameter, buffers, taken)
            for variable, parameter in zip(kernel.parameters, parameters, strict=True)
        ]
        launches += ["", "[[launch]]", f'entry = "{_entry(kernel.name, kernels)}"', *_sizes(kernel)]
        written = [f"    {text},  # {_comment(p)}" for text, p in zip(arguments, parameters, strict=True)]
        launches += ["args = [", *written, "]"] if written else ["args = []"]
    lines = [
        f"# How to run {file}, as far as the kernels' signatures tell it: complete the shapes and",
        "# contents, the grids and blocks, and the arguments. docs/launch.md explains every key.",
        *buffers,
        *_symbols(module),
        *launches,
        "",
        "# What must be in a buffer at the end:",
        "# [expected.NAME]",
        '# file = "expected.npy"',
        "# rtol = 1e-6",
    ]
    return "\n".join(lines) + "\n"


def _signatures(source: str) -> dict[str, tuple[list[str], list[_Parameter]]]:
    """For each kernel of a source, the parameters of its template and its own."""
    found = {}
    for kernel in _KERNEL.finditer(_COMMENT.sub(" ", source)):
        template = [part.split("=")[0].split()[-1] for part in _split(kernel["template"] or "")]
        listed = [] if kernel["list"].strip() == "void" else _split(kernel["list"])
        found[kernel["name"]] = (template, [_declared(part) for part in listed])
    return found


def _split(text: str) -> list[str]:
    """The parts between commas, save those in angle brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _declared(text: str) -> _Parameter:
    """One parameter of a list."""
    text = re.sub(r"\b(__restrict__|__restrict|restrict|volatile|__grid_constant__|struct)\b", " ", text)
    text = re.sub(r"=.*", "", text)
    array = re.sub(r"\[[^\]]*\]\s*$", "", text.strip())
    name = re.search(r"(\w+)$", array)
    kind = array[: name.start()] if name else array
    pointer = "*" in kind or "[" in text
    words = kind.replace("*", " ").replace("&", " ").split()
    plain = " ".join(word for word in words if word != "const")
    return _Parameter(plain, name[1] if name else "", pointer, "const" in words)


def _parameters(
    kernel: Function, known: Mapping[str, tuple[list[str], list[_Parameter]]]
) -> list[_Parameter]:
    """The parameters of a kernel: those of the source if it has as many, else what the PTX says."""
    template, declared = known.get(plain_name(kernel.name), ([], []))
    if len(declared) != len(kernel.parameters):
        return [
            _Parameter("", f"p{i}", p.type in ("u64", "b64"), False) for i, p in enumerate(kernel.parameters)
        ]
    given = source_name(kernel.name).partition("<")[2].rpartition(">")[0]
    types = dict(zip(template, _split(given), strict=False))
    return [_Parameter(types.get(p.type, p.type), p.name, p.pointer, p.constant) for p in declared]


def _argument(variable: Variable, parameter: _Parameter, buffers: list[str], taken: set[str]) -> str:
    """One argument, with a buffer for a pointer."""
    if parameter.pointer:
        name = parameter.name
        while name in taken:
            name += "_"
        taken.add(name)
        element = _ELEMENTS.get(parameter.type, "f32" if not parameter.type else "u8")
        content = "arange = true" if parameter.constant else "zeros = true"
        unknown = "" if parameter.type in _ELEMENTS else "  # complete: the elements' type"
        buffers += ["", f"[buffers.{name}]", f'type = "{element}"{unknown}']
        buffers += ["shape = 1024  # complete: the number of elements", f"{content}  # complete: the content"]
        return f'"{name}"'
    if parameter.type == "cudaTextureObject_t" or variable.type == "texref":
        return f'"{_texture(parameter.name, buffers, taken)}"'
    if variable.type[0] == "f":
        return "1.0"
    if parameter.type in ("float", "double") and variable.type[0] == "b":
        return f"{{ f{8 * variable.size} = 1.0 }}"
    if variable.size in (1, 2, 4, 8) and variable.type != "b8":
        return "1024" if variable.size > 1 else "1"
    return f'{{ bytes = "{" ".join(["00"] * variable.size)}" }}'


def _texture(name: str, buffers: list[str], taken: set[str]) -> str:
    """A texture and the buffer that it lies in; the texture's name."""
    while name in taken:
        name += "_"
    data = f"{name}_data"
    while data in taken:
        data += "_"
    taken |= {name, data}
    buffers += ["", f"[buffers.{data}]", 'type = "f32"  # complete: the elements\' type']
    buffers += ["shape = 1024  # complete: the number of elements", "arange = true  # complete: the content"]
    buffers += ["", f"[textures.{name}]  # complete: channels, width, height, pitch", f'buffer = "{data}"']
    return name


def _comment(parameter: _Parameter) -> str:
    if parameter.pointer:
        return "a buffer"
    if parameter.type == "cudaTextureObject_t":
        return "a texture"
    return f"complete: {parameter.type} {parameter.name}".replace("  ", " ")


def _entry(name: str, kernels: list[Function]) -> str:
    """The shortest name that means this kernel alone."""
    names = [kernel.name for kernel in kernels]
    for short in (plain_name(name), source_name(name)):
        if find(short, names) == [name]:
            return short
    return name


def _sizes(kernel: Function) -> list[str]:
    required = kernel.directives.get("reqntid")
    most = kernel.directives.get("maxntid")
    block = [n for n in (required or most or (128,)) if isinstance(n, int)]
    while len(block) > 1 and block[-1] == 1:
        block.pop()
    written = str(block[0]) if len(block) == 1 else str(block)
    note = "" if required else "  # complete: threads of a block"
    return ["grid = 1  # complete: blocks", f"block = {written}{note}"]


def _symbols(module: Module) -> list[str]:
    """Variables that a host fills: those in constant memory without content."""
    lines = []
    for variable in module.variables.values():
        if variable.space == "const" and not variable.external:
            lines += ["", f"# [symbols.{plain_name(variable.name)}]", '# type = "f32"']
            lines += [
                f"# shape = {max(variable.size // 4, 1)}  # of {variable.size} bytes",
                "# arange = true",
            ]
    return lines


def read_source(path: Path) -> str:
    """The text of a CUDA source, whatever bytes are in it."""
    return path.read_text(encoding="utf-8", errors="replace")
