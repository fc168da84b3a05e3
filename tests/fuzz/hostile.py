"""Hostile files of about a megabyte for every reader: what expands to gigabytes, nests beyond any stack, or
makes a pass take time that grows faster than the file."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable

import numpy as np

MEGABYTE = 1 << 20

_PTX = ".version 7.0\n.target sm_70\n.address_size 64\n"
_ENTRY = _PTX + ".visible .entry k(.param .u64 p)\n{\n"


def _kernel(body: str) -> str:
    return f"{_ENTRY}{body}\nret;\n}}\n"


def _repeated(text: str, size: int = MEGABYTE) -> str:
    return text * (size // len(text))


def _calls() -> str:
    """Functions that call the next one four times: a million instructions after inlining, and more."""
    functions = [
        f".func f{number}()\n{{\n{f'call f{number + 1}, ();' * 4}\nret;\n}}\n" for number in range(40)
    ]
    last = ".func f40()\n{\n.reg .b32 %r<2>;\nadd.s32 %r1, %r1, 1;\nret;\n}\n"
    entry = ".visible .entry k(.param .u64 p)\n{\ncall f0, ();\nret;\n}\n"
    return _PTX + last + "".join(reversed(functions)) + entry


def _itself() -> str:
    return _PTX + ".func f()\n{\ncall f, ();\nret;\n}\n.visible .entry k()\n{\ncall f, ();\nret;\n}\n"


def _straight(count: int) -> str:
    lines = "".join(f"add.s32 %r{n % 5000 + 1}, %r{(7 * n) % 5000}, {n};\n" for n in range(count))
    return _kernel(f".reg .b32 %r<5002>;\n{lines}")


def _branches(count: int) -> str:
    """Blocks, each of which may leave to one far away."""
    lines = "".join(f"L{n}:\nadd.s32 %r1, %r1, %r2;\n@%p1 bra L{(n * 7919) % count};\n" for n in range(count))
    return _kernel(f".reg .b32 %r<4>;\n.reg .pred %p<2>;\n{lines}")


def _loops(depth: int) -> str:
    """Loops inside each other."""
    heads = "".join(f"H{n}:\nadd.s32 %r{n % 50 + 1}, %r1, 1;\n" for n in range(depth))
    ends = "".join(f"@%p1 bra H{n};\n" for n in reversed(range(depth)))
    return _kernel(f".reg .b32 %r<52>;\n.reg .pred %p<2>;\n{heads}{ends}")


def _live(count: int) -> str:
    """As many values alive at one place as there are registers."""
    lines = "".join(f"ld.global.u32 %r{n}, [%rd1+{4 * n}];\n" for n in range(count))
    sums = "".join(f"add.s32 %r0, %r0, %r{n};\n" for n in range(count))
    store = "st.global.u32 [%rd1], %r0;"
    return _kernel(
        f".reg .b32 %r<{count}>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n{lines}{sums}{store}"
    )


PTX: dict[str, Callable[[], str]] = {
    "comments that never end": lambda: _PTX + _repeated("/* "),
    "slashes": lambda: _PTX + _repeated("/ * "),
    "quotes": lambda: _PTX + _repeated('"\n'),
    "backslashes in a string": lambda: _PTX + '"' + _repeated("\\"),
    "nested braces": lambda: _kernel(_repeated("{")),
    "nested parentheses": lambda: _PTX + ".global .u32 x = " + _repeated("("),
    "signs": lambda: _PTX + ".global .u32 x = " + _repeated("-") + "1;",
    "a sum": lambda: _PTX + ".global .u32 x = 1" + _repeated("+1") + ";",
    "shifts": lambda: _PTX + ".global .u64 x = 1 << 99999999999999;",
    "a long number": lambda: _PTX + ".global .u64 x = " + _repeated("9") + ";",
    "an exponent": lambda: _PTX + ".global .f64 x = 1.0e999999999;",
    "registers": lambda: _kernel(".reg .b32 %r<999999999>;"),
    "many groups of registers": lambda: _kernel(
        "".join(f".reg .b32 %r{n}x<1000000>;\n" for n in range(20000))
    ),
    "a huge variable": lambda: _PTX + ".global .b8 x[99999999999999999999];",
    "a huge initialised variable": lambda: _PTX + ".global .b8 x[268435455] = {1};",
    "many initialised variables": lambda: (
        _PTX + "".join(f".global .b8 x{n}[268435455] = {{1}};\n" for n in range(20000))
    ),
    "dimensions": lambda: _PTX + ".global .b8 x" + _repeated("[2]") + ";",
    "nested initial values": lambda: _PTX + ".global .b8 x[2] = " + _repeated("{"),
    "one line": lambda: _PTX + _repeated("."),
    "one word": lambda: _PTX + _repeated("a"),
    "a long name": lambda: _PTX + ".global .u32 " + _repeated("a") + ";",
    "dots": lambda: _kernel("add" + _repeated(".s32") + " %r1, %r1, %r1;"),
    "operands": lambda: _kernel("call f, (" + _repeated("p,") + "p);"),
    "vectors": lambda: _kernel("mov.b32 {" + _repeated("p,") + "p}, p;"),
}

#: Code that is right, and long: it must be compiled or refused in time.
LONG_CODE: dict[str, Callable[[], str]] = {
    "straight code": lambda: _straight(30000),
    "branches": lambda: _branches(12000),
    "nested loops": lambda: _loops(3000),
    "live values": lambda: _live(12000),
    "calls": _calls,
    "a call of itself": _itself,
    "labels": lambda: _kernel("".join(f"L{n}:\n" for n in range(100000))),
}

_LAUNCH = '[[launch]]\nentry = "k"\ngrid = [1]\nblock = [1]\nargs = ["a", 1]\n'
TOML: dict[str, Callable[[], str]] = {
    "nested lists": lambda: "a = " + _repeated("["),
    "nested lists that are closed": lambda: "a = " + "[" * 100000 + "]" * 100000,
    "nested tables": lambda: "a = " + "{a=" * 100000 + "1" + "}" * 100000,
    "a dotted key": lambda: ".".join("a" for _ in range(20000)) + " = 1",
    "a dotted header": lambda: "[" + ".".join("a" for _ in range(100000)) + "]",
    "a long number": lambda: "name = " + _repeated("9"),
    "a long hexadecimal number": lambda: "name = 0x" + _repeated("f"),
    "a long string": lambda: 'grid = "' + _repeated("a") + '"',
    "an exponent": lambda: "name = 1e999999999",
    "many keys": lambda: "".join(f"k{n} = 1\n" for n in range(90000)),
    "many similar keys": lambda: "".join(f"{'launch' * 40}{n} = 1\n" for n in range(4000)),
    "many tables": lambda: "".join(f"[[launch]]\nk{n} = 1\n" for n in range(40000)),
    "a huge buffer": lambda: '[buffers.a]\ntype = "u32"\nshape = [2000000000, 2000000000]\n' + _LAUNCH,
    "many buffers": lambda: (
        "".join(f'[buffers.b{n}]\ntype = "u8"\nshape = 4000000000\nfill = 1\n' for n in range(100)) + _LAUNCH
    ),
    "many dimensions": lambda: '[buffers.a]\ntype = "u8"\nshape = [' + _repeated("1,") + "]\n" + _LAUNCH,
    "a huge grid": lambda: _LAUNCH.replace("[1]", "[99999999999999999999]", 1),
}


def _sweep() -> str:
    """Ten fields of ten values: ten thousand million runs."""
    paths = [f"sub_core.execute.{unit}.latency" for unit in _UNITS] + [f"lsu.{name}" for name in _LATENCIES]
    fields = "".join(f"{path} = {list(range(1, 11))}\n" for path in paths)
    return f'kernels = ["nn"]\n[fields]\n{fields}'


_UNITS = ("alu", "fma", "sfu", "tensor", "fp64", "control")
_LATENCIES = ("shared_latency", "const_latency", "shuffle_latency", "pending")
SWEEPS: dict[str, Callable[[], str]] = {"ten thousand million runs": _sweep}

LIBERTY: dict[str, Callable[[], str]] = {
    "comments that never end": lambda: "library (a) {" + _repeated("/* "),
    "spaces behind an attribute": lambda: "library (a) {\n a : b" + " " * MEGABYTE + ";\n}",
    "spaces before an attribute": lambda: "library (a) {\n" + " " * MEGABYTE + "a b",
    "attributes without a semicolon": lambda: "library (a) {\n" + _repeated("a : b\n"),
    "one attribute": lambda: "library (a) { a : " + _repeated("b "),
    "nested groups": lambda: "library (a) {" + _repeated("cell (b) {"),
    "nested groups that are closed": lambda: "library (a) {" + "cell (b) {" * 50000 + "}" * 50001,
    "closing braces": lambda: "library (a) {" + _repeated("}"),
    "parentheses": lambda: "library (a) {" + _repeated("a ("),
    "quotes": lambda: "library (a) {" + _repeated('"\n'),
    "semicolons": lambda: "library (a) {" + _repeated(";") + "}",
    "no group": lambda: "library (",
    "nothing": lambda: "",
    "a nested function": lambda: _cell("(" * 100000 + "a" + ")" * 100000),
    "a function that is negated": lambda: _cell("!" * 200000 + "a"),
    "many inputs": lambda: _cell("i0", 60),
}


def _cell(function: str, inputs: int = 0) -> str:
    pins = "".join(f"pin (i{n}) {{ direction : input; capacitance : 1; }}\n" for n in range(max(inputs, 1)))
    return (
        'library (a) { time_unit : "1ns"; capacitive_load_unit (1, ff); voltage_unit : "1V";\n'
        f"cell (c) {{ area : 1;\n{pins}"
        "pin (a) { direction : input; capacitance : 1; }\n"
        f'pin (z) {{ direction : output; function : "{function}"; }}\n}}\n}}\n'
    )


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def _npy(header: str, content: bytes = b"") -> bytes:
    padded = header.encode()
    padded += b" " * (-(len(padded) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + content


def _claims(shape: str, descr: str = "<u4") -> bytes:
    """An archive whose header claims an array of that shape."""
    return _archive(
        {"header": _npy(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}", bytes(1000))}
    )


def _bomb() -> bytes:
    """A megabyte that expands to a gigabyte of values."""
    from warpbank.program.trace.builder import TraceBuilder, alu
    from warpbank.program.trace.schema import SCHEMA_VERSION

    trace = TraceBuilder().launch([[alu(1)]]).build()
    file = io.BytesIO()
    header = {"schema": SCHEMA_VERSION, "meta": {}, "kernels": ["k"], "first_pc": [0], "text": trace.text}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        arrays = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
        arrays |= {name: getattr(trace, name) for name in ("code", "launches", "warps", "dynamic")}
        arrays |= {"lines": trace.lines, "ptx_line": trace.ptx_line}
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        rows = 8 << 20  # a gigabyte
        with archive.open("values.npy", "w", force_zip64=True) as member:
            member.write(_npy(f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({rows}, 32), }}"))
            chunk = bytes(MEGABYTE)
            for _ in range(rows * 128 // MEGABYTE):
                member.write(chunk)
    return file.getvalue()


TRACES: dict[str, Callable[[], bytes]] = {
    "a gigabyte of zeros": _bomb,
    "an array of a terabyte": lambda: _claims("(1000000000000,)", "|u1"),
    "an array beyond all numbers": lambda: _claims("(99999999999999999999999,)", "|u1"),
    "a negative shape": lambda: _claims("(-5,)", "|u1"),
    "many dimensions": lambda: _claims("(" + "1," * 20000 + ")", "|u1"),
    "a header that nests": lambda: _archive(
        {"header": _npy("{'descr': '|u1', 'fortran_order': False, 'shape': (900000,), }", b"[" * 900000)}
    ),
    "an object array": lambda: _claims("(3,)", "|O"),
    "nothing": lambda: b"",
    "no archive": lambda: b"PK" + bytes(MEGABYTE),
}

ACCELSIM: dict[str, Callable[[], str]] = {
    "nothing": lambda: "",
    "a header only": lambda: "-kernel name = k\n-grid dim = (999999999,999999999,999999999)\n",
    "one line": lambda: _repeated("#"),
    "a long number": lambda: "-kernel id = " + _repeated("9"),
    "many warps": lambda: _accelsim("warp = 0\ninsts = 999999999999\n"),
    "a huge warp": lambda: _accelsim("warp = 999999999999\ninsts = 1\n"),
    "a huge block": lambda: _accelsim("warp = 0\ninsts = 0\n", "(999999,999999,999999)"),
    "one instruction": lambda: _accelsim("warp = 0\ninsts = 1\n0000 ffffffff " + _repeated("1 R1 ")),
}


def _accelsim(warp: str, block: str = "(32,1,1)") -> str:
    return (
        f"-kernel name = k\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = {block}\n"
        "-shmem = 0\n-nregs = 8\n"
        "-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x0\n-local mem base_addr = 0x0\n"
        "-nvbit version = 1.5\n-accelsim tracer version = 3\n\n#BEGIN_TB\n\nthread block = 0,0,0\n\n"
        f"{warp}#END_TB\n"
    )
