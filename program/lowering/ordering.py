"""Orders of memory accesses: which of them an access may name, with which scope, state space and cache
operator, and the fences that stand for them.

PTX ISA manual, "Memory Consistency Model", and the syntax of ld, st, atom, red, membar and fence. The machine
has one fence, which waits for every access before it, so that scopes make no difference here.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.program.isa import Op
from warpbank.program.lowering.context import Context
from warpbank.program.lowering.form import Form
from warpbank.program.lowering.table import lowers
from warpbank.program.lowering.types import B64

#: Orders of each access. Those of ld and st, `volatile` aside, need a scope; that of an atomic is .gpu if it
#: names none.
_ORDERS = {
    "ld": ("volatile", "relaxed", "acquire"),
    "st": ("volatile", "relaxed", "release"),
    "atom": ("relaxed", "acquire", "release", "acq_rel"),
    "red": ("relaxed", "release"),
}
_CACHES = {"ld": ("ca", "cg", "cs", "lu", "cv"), "st": ("wb", "cg", "cs", "wt")}
_SCOPES = ("cta", "cluster", "gpu", "sys")
_FENCES = {"membar": ("cta", "gl", "sys"), "fence": _SCOPES}
#: State spaces that other threads see; "" is generic.
_SEEN = ("", "global", "shared")
_HINTS = ("L1::", "L2::evict", "L2::64B", "L2::128B", "L2::256B", "level::", "unified")


@dataclass(frozen=True, slots=True)
class Order:
    """Memory order of an access.

    Parameters
    ----------
    volatile : the access is made as it is written: neither dropped nor merged with others.
    release : a fence stands before it.
    acquire : a fence stands behind it.
    """

    volatile: bool
    release: bool
    acquire: bool


def take_order(form: Form, space: str) -> Order:
    """Consumes order, scope, cache operator and hints of an access to a state space; refuses what PTX does
    not have together."""
    plain = form.opcode in _CACHES
    order = _one(form, _ORDERS.get(form.opcode, ()))
    scope = _one(form, _SCOPES if form.opcode in _ORDERS else ())
    cache = _one(form, _CACHES.get(form.opcode, ()))
    weak = _one(form, ("weak",) if plain else ())
    mmio = _one(form, ("mmio",) if plain else ())
    constant = _one(form, ("nc",) if form.opcode == "ld" else ())
    form.ignore(*_HINTS)
    scoped = order in ("relaxed", "acquire", "release")
    if order and (weak or cache):
        form.refuse(f".{order} does not go with .{weak or cache}: take one of them")
    if plain and scoped and not scope:
        form.refuse(f".{order} needs a scope: one of .cta .cluster .gpu .sys")
    if plain and scope and not scoped:
        scopes = " or ".join(f".{name}" for name in _ORDERS[form.opcode][1:])
        form.refuse(f".{scope} is the scope of {scopes}: name one of them")
    if (order or not plain) and space not in _SEEN:
        form.refuse(f"{form.opcode} with an order reaches memory that other threads see, not .{space}")
    if mmio and ((order, scope) != ("relaxed", "sys") or space == "shared"):
        form.refuse(".mmio goes with .relaxed.sys, on .global or generic addresses")
    if constant and (order or weak or space != "global" or cache in ("lu", "cv")):
        form.refuse(".nc goes with .global and .ca, .cg or .cs alone")
    return Order(bool(order), order in ("release", "acq_rel"), order in ("acquire", "acq_rel"))


def take_policy(ctx: Context, form: Form, space: str, *counts: int) -> bool:
    """Consumes .L2::cache_hint of an access to a state space, whose last operand is then a cache policy; the
    access takes one of `counts` operands besides. Returns whether it is there."""
    hinted = form.flag("L2::cache_hint")
    if hinted and space not in ("", "global"):
        form.refuse(f".L2::cache_hint goes with .global or generic addresses, not with .{space}")
    form.arity(*(count + hinted for count in counts))
    if hinted:
        ctx.value(form.operands[-1], B64)
    return hinted


def _one(form: Form, names: tuple[str, ...]) -> str | None:
    """The modifier that is one of these, which is consumed; None where none is."""
    return form.maybe({name: name for name in names})


@lowers("membar", "fence")
def fence(ctx: Context, form: Form) -> None:
    """Every fence is the one fence of the machine. Those between proxies, and those of an mbarrier, have
    forms of their own, which make no difference."""
    if not any("proxy" in name or "restrict" in name for name in form.left):
        if form.opcode == "fence":
            _one(form, ("sc", "acq_rel", "acquire", "release"))
        form.choice({name: name for name in _FENCES[form.opcode]})
        form.done()
        form.arity(0)
    ctx.emit(Op.MEMBAR, volatile=True)
