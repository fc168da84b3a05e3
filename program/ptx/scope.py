"""Scopes of names inside a function: nested `{ }`, and names made unique so that the parsed function is
flat."""

from __future__ import annotations

from warpbank.program.ptx.ast import Register, Symbol, Vector

_INDEXED = {"tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"}
_PLAIN = {
    *("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "clock", "clock_hi", "clock64", "pm0_64"),
    *("lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "is_explicit_cluster"),
    *(
        "cluster_ctarank",
        "cluster_nctarank",
        "globaltimer",
        "globaltimer_lo",
        "globaltimer_hi",
        "current_graph_exec",
    ),
    *("total_smem_size", "aggr_smem_size", "dynamic_smem_size"),
    *(f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap", "0", "1")),
    *(f"pm{i}" for i in range(8)),
    *(f"pm{i}_64" for i in range(8)),
    *(f"envreg{i}" for i in range(32)),
}
#: The predefined special registers of the PTX language, with their suffixes.
SPECIAL = frozenset(
    {f"%{name}" for name in _PLAIN | _INDEXED} | {f"%{name}.{axis}" for name in _INDEXED for axis in "xyzw"}
)


class OperandLookup:
    """Name table of a function, which hands out unique names.

    Inline assembly and call sequences declare the same names in one scope after the other. The second
    `param0` becomes `param0#2`: `#` cannot occur in PTX, so no written name is ever hit.
    """

    def __init__(self) -> None:
        self._count: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """Unique name: `name` the first time, `name#2` the second, and so on."""
        count = self._count.get(name, 0) + 1
        self._count[name] = count
        return name if count == 1 else f"{name}#{count}"


class Scope:
    """Scope of names, one `{ }` of a function.

    Parameters
    ----------
    names : of the whole function.
    parent : the scope around it; None for the function's own.

    Attributes
    ----------
    values : what a written name stands for as an operand: a register, the vector of a vector register, or a
        symbol.
    labels : written name of a label, .branchtargets or .callprototype to its unique name. Labels may be used
        before they are defined, so they are looked up when the function is complete.
    targets : written name of a .calltargets list to the functions in it.
    """

    def __init__(self, names: OperandLookup, parent: Scope | None) -> None:
        self.names = names
        self.parent = parent
        self.values: dict[str, Register | Symbol | Vector] = {}
        self.labels: dict[str, str] = {}
        self.targets: dict[str, tuple[str, ...]] = {}

    def find(self, name: str) -> Register | Symbol | Vector | None:
        """Meaning of `name` here; None if it is not declared in this scope or around it."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.values.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def label(self, name: str) -> str | None:
        """The unique name of the label written `name`; None if there is none in this scope or around it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.parent
        return None

    def call_targets(self, name: str) -> tuple[str, ...]:
        """The functions of the .calltargets list `name`; empty if there is none."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.targets:
                return scope.targets[name]
            scope = scope.parent
        return ()
