"""Bit patterns as numbers and back, and the machine instructions that Python has no operator for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_F32, _F64 = ir.FloatType(), ir.DoubleType()
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def _bitcast(name: str, source: Any, result: Any, llvm_type: Any, doc: str) -> Any:
    def declare(typingctx: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], llvm_type)

        return result(source), generate

    declare.__name__, declare.__doc__ = name, doc
    return intrinsic(declare)


f32 = _bitcast("f32", types.uint32, types.float32, _F32, "The single-precision number with these bits.")
u32 = _bitcast("u32", types.float32, types.uint32, _I32, "The bits of a single-precision number.")
f64 = _bitcast("f64", types.int64, types.float64, _F64, "The double-precision number with these bits.")
i64 = _bitcast("i64", types.float64, types.int64, _I64, "The bits of a double-precision number.")


def _llvm(name: str, llvm_name: str, number: Any, llvm_type: Any, arguments: int, doc: str) -> Any:
    """A function of one to three numbers of one type that LLVM has an intrinsic for."""

    def body(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(llvm_type, [llvm_type] * arguments)
        return builder.call(builder.module.declare_intrinsic(llvm_name, [llvm_type], function), args)

    if arguments == 1:

        def declare(typingctx: Any, x: Any) -> Any:
            return number(number), body

    else:

        def declare(typingctx: Any, x: Any, y: Any, z: Any) -> Any:  # type: ignore[misc]
            return number(number, number, number), body

    declare.__name__, declare.__doc__ = name, doc
    return intrinsic(declare)


fma32 = _llvm("fma32", "llvm.fma", types.float32, _F32, 3, "x * y + z, rounded once.")
fma64 = _llvm("fma64", "llvm.fma", types.float64, _F64, 3, "x * y + z, rounded once.")
sqrt32 = _llvm("sqrt32", "llvm.sqrt", types.float32, _F32, 1, "Square root, rounded to nearest.")
sqrt64 = _llvm("sqrt64", "llvm.sqrt", types.float64, _F64, 1, "Square root, rounded to nearest.")
popcount = _llvm("popcount", "llvm.ctpop", types.int64, _I64, 1, "Number of ones.")
reverse = _llvm("reverse", "llvm.bitreverse", types.int64, _I64, 1, "Bit 63 becomes bit 0.")


def _leading_zeros(typingctx: Any, x: Any) -> Any:
    """Number of zeros above the highest one of a 64-bit number; 64 of zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


leading_zeros: Any = intrinsic(_leading_zeros)
