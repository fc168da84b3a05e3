"""Why some pairs of events never fall into one cycle for one register: one rule for each reason.

A rule holds for all machines that its condition names; the search for pairs (`tests.event_pairs`) asserts
that no run shows a pair that a rule excludes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from warpbank.arch.schemes import Scheme
from warpbank.arch.units import UNITS

#: Kinds that are the issue of a uop.
ISSUES = ("reader", "last reader", "writer", "part writer", "pbr", "move", "prefetch")
#: ... of a uop that names the register as an operand.
NAMES = ("reader", "last reader", "writer", "part writer", "move")
WRITERS = ("writer", "part writer", "move")
READS = ("bank read", "cache read", "arrival", "dispatch")
#: What a cache brings in of the main register file.
FETCHED = ("fetch", "cache fill", "cache zero")
#: ... and the place that it has, or that a result gets.
COMES = ("cache allocate", *FETCHED)
SETS_OFF = tuple(each for each in COMES if each != "cache fill")


def _always(scheme: Scheme) -> bool:
    return True


def _caching(scheme: Scheme) -> bool:
    return scheme.collector != "ocu"


def _evicting(scheme: Scheme) -> bool:
    return scheme.collector.startswith("boc")


def _no_eviction(scheme: Scheme) -> bool:
    return not _evicting(scheme)


def _evicting_flat(scheme: Scheme) -> bool:
    return _evicting(scheme) and scheme.hierarchy == "flat"


def _one_in_collection(scheme: Scheme) -> bool:
    """Caching collectors in which a warp that owns a unit waits for it."""
    unit = UNITS["collector"][scheme.collector]
    return unit.name.startswith("ccu") and bool(unit.arguments.get("own_unit", True))


def _flat(scheme: Scheme) -> bool:
    return scheme.hierarchy == "flat" and scheme.storage != "scalar_rf"


def _ltrf(scheme: Scheme) -> bool:
    return scheme.hierarchy.startswith("ltrf")


@dataclass(frozen=True)
class Rule:
    """Pairs of a kind of `first` and one of `second` do not happen.

    Parameters
    ----------
    reason : why, in a sentence.
    first, second : kinds; a kind in both excludes the pair of it with itself.
    when : the machines for which that holds.
    """

    reason: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    when: Callable[[Scheme], bool] = _always


RULES = (
    Rule("A sub-core issues one uop a cycle.", ISSUES, ISSUES),
    Rule(
        "A slot receives a warp after the last uop of the one before has retired.",
        ("start",),
        (*ISSUES, *READS, *COMES, "write", "invalidate", "start", "end", "map", "activate"),
    ),
    Rule(
        "A slot receives a warp after the last uop of the one before has retired.",
        ("start",),
        ("collector write",),
        _evicting,
    ),
    Rule(
        "A warp whose last uop retires has nothing left to issue, to collect or to bring in.",
        ("end",),
        (*ISSUES, *READS, "fetch", "cache zero", "end", "map", "activate"),
    ),
    Rule(
        "A warp whose last uop retires has nothing left to issue, to collect or to bring in.",
        ("end",),
        ("cache allocate",),
        _ltrf,
    ),
    Rule(
        "A warp becomes active or pending at one clock edge.",
        ("activate", "deactivate"),
        ("activate", "deactivate"),
    ),
    Rule("A pending warp issues nothing.", ("activate",), (*ISSUES, "map")),
    Rule("A warp loses its place only while its next uop cannot issue.", ("deactivate",), (*ISSUES, "map")),
    Rule(
        "A warp is activated when nothing of it is left in the cache.",
        ("activate",),
        ("cache read", "cache write", "cache release", *COMES),
        _ltrf,
    ),
    Rule(
        "A register is pending until the cycle after its result is written: RAW and WAW hazards.",
        ("write", "invalidate"),
        (*NAMES, "map"),
    ),
    Rule(
        "A register is pending until the cycle after its result is written: RAW and WAW hazards.",
        ("collector write",),
        (*NAMES, "map"),
        _evicting,
    ),
    Rule(
        "A register is pending until the cycle after its result is written: RAW and WAW hazards.",
        ("cache write",),
        (*NAMES, "map"),
        _no_eviction,
    ),
    Rule("A register has at most one pending result.", ("write",), ("write",)),
    Rule(
        "A register has at most one pending result.",
        ("collector write",),
        ("collector write", "invalidate"),
        _evicting,
    ),
    Rule(
        "A warp owns one caching collector unit, which keeps one result a cycle.",
        ("collector write",),
        ("collector write",),
        _no_eviction,
    ),
    Rule("A register has at most one pending result.", ("invalidate",), ("invalidate",)),
    Rule(
        "A register lies in one place, and a bank takes one write a cycle.",
        ("write", "write back", "cache write"),
        ("write", "write back", "cache write"),
        lambda scheme: _ltrf(scheme) or _flat(scheme),
    ),
    Rule(
        "An operand hinders a younger write of its register until its uop is dispatched.",
        ("write", "collector write", "invalidate", "writer", "part writer", "move"),
        ("bank read", "cache read", "arrival"),
        _caching,
    ),
    Rule(
        "An operand hinders a younger write of its register until its uop is dispatched, a cycle before.",
        ("write", "collector write", "invalidate", "writer", "part writer", "move"),
        ("dispatch",),
        _caching,
    ),
    Rule(
        "An operand hinders a younger write of its register until it has arrived, a cycle before.",
        ("writer", "part writer", "move"),
        ("bank read", "cache read", "arrival"),
        lambda scheme: scheme.collector == "ocu",
    ),
    Rule("A bank that is written is not read.", ("bank read",), ("write", "write back"), _flat),
    Rule("A bank serves one read a cycle.", ("bank read",), ("bank read",), _flat),
    Rule(
        "A bank of the cache serves one read a cycle, and none while it is written or a register leaves it.",
        ("cache read",),
        ("cache read", "cache write", "cache release", "cache fill", "cache zero"),
        _ltrf,
    ),
    Rule(
        "A warp issues nothing until its registers have crossed, and what leaves goes before what comes; the "
        "cache is written in the cycle after the crossing.",
        (*NAMES, "map"),
        (*SETS_OFF, "cache release"),
        _ltrf,
    ),
    Rule("A warp issues nothing until its registers have crossed.", ("pbr",), SETS_OFF, _ltrf),
    Rule(
        "A PREFETCH issues when the registers of the interval before it have crossed and no operand is still "
        "to be read.",
        ("prefetch",),
        (*SETS_OFF, "cache read", "arrival", "map"),
        _ltrf,
    ),
    Rule(
        "An operand is looked up only when its register is in the cache.",
        ("cache read", "arrival"),
        COMES,
        _ltrf,
    ),
    Rule(
        "A register sets off once, its bank is read in a later cycle, and it arrives later still.",
        ("cache allocate", "fetch", "cache fill"),
        ("cache allocate", "fetch", "cache fill"),
        _ltrf,
    ),
    Rule("A register comes or leaves.", ("cache release",), (*COMES, "cache release"), _ltrf),
    Rule(
        "Of a register without a physical one nothing is fetched.",
        ("cache zero",),
        ("fetch", "cache fill", "cache zero"),
    ),
    Rule(
        "A result waits while its register moves.",
        ("write", "cache write", "write back"),
        ("fetch", "cache fill"),
        _ltrf,
    ),
    Rule(
        "A register has a physical one or has none: it gets one only if it had none at the clock edge.",
        ("map",),
        ("map", "unmap", "write back"),
    ),
    Rule(
        "A warp has one uop in collection, and a collector one port.",
        ("reader", "last reader", "writer", "part writer", "move", *READS),
        READS,
        _one_in_collection,
    ),
    Rule(
        "A bypassing collector fetches a register once, for all uops that wait for it, and one of them "
        "leaves a cycle.",
        READS,
        READS,
        _evicting,
    ),
    Rule("What a collector evicts it does not fetch.", ("write back",), ("arrival",), _evicting_flat),
    Rule(
        "A result goes into the collector or to the banks.",
        ("write",),
        ("collector write",),
        lambda scheme: scheme.collector == "boc",
    ),
    Rule("A release instruction writes nothing.", ("map",), ("pbr",)),
    Rule("What is moved has a physical register.", ("map",), ("move",)),
    Rule("No uop releases what it writes.", ("map",), ("last reader",)),
    Rule(
        "An operand hinders a younger write of its register until it has been read.",
        ("map",),
        ("bank read", "cache read", "arrival"),
    ),
    Rule(
        "An operand is read when its uop is dispatched, and released later.",
        ("map", "unmap"),
        ("dispatch",),
        _caching,
    ),
    Rule(
        "A register with a pending result has a physical one.",
        ("dead value",),
        ("write", "collector write", "cache write"),
    ),
    Rule(
        "Of a register without a physical one nothing is fetched.", ("dead value",), ("fetch", "cache fill")
    ),
    Rule(
        "Registers leave and come while no operand of the warp is still to be read.",
        ("arrival",),
        ("cache release", "activate"),
        _ltrf,
    ),
    Rule(
        "Registers leave and come while no operand of the warp is still to be read.",
        ("dispatch",),
        ("cache release", "prefetch", "activate", *COMES),
        lambda scheme: _ltrf(scheme) and _caching(scheme),
    ),
    Rule(
        "What leaves the cache is no register of the interval.",
        ("write back",),
        (*NAMES, "map", "cache read", "arrival"),
        lambda scheme: _ltrf(scheme) and _no_eviction(scheme),
    ),
    Rule(
        "What leaves the cache is written in a later cycle, and comes back after that.",
        ("write back",),
        ("cache zero",),
        lambda scheme: _ltrf(scheme) and _no_eviction(scheme),
    ),
    Rule(
        "A value goes into the cache as long as its register is there, and to the banks otherwise.",
        ("cache release", "cache read"),
        ("write", "write back"),
        _ltrf,
    ),
    Rule(
        "A value goes into the cache as long as its register is there, and to the banks otherwise.",
        ("cache write",),
        ("cache allocate", "cache zero"),
        _ltrf,
    ),
    Rule(
        "A result waits while its register moves.",
        ("invalidate",),
        ("fetch", "cache fill", "write back"),
        lambda scheme: _ltrf(scheme) and _no_eviction(scheme),
    ),
    Rule("A register is released once.", ("unmap",), ("unmap", "dead value")),
    Rule(
        "A register is released when no result of it and no read of it is pending.",
        ("unmap",),
        ("bank read", "cache read", "arrival", "write", "invalidate"),
    ),
    Rule(
        "A register is released when no result of it and no read of it is pending.",
        ("unmap",),
        ("collector write",),
        _evicting,
    ),
    Rule("A uop that writes a dying register takes it over.", ("unmap",), WRITERS),
    Rule("Nobody reads a register after its last read.", ("unmap",), ("reader", "last reader")),
    Rule(
        "A collector's bus carries one value a cycle.",
        ("write back", "dead value"),
        ("write back", "dead value"),
        lambda scheme: scheme.hierarchy == "flat",
    ),
)


def reason(scheme: Scheme, first: str, second: str) -> str:
    """Why a pair of kinds cannot happen on a machine; "": no rule says so."""
    for rule in RULES:
        if rule.when(scheme) and (
            (first in rule.first and second in rule.second) or (second in rule.first and first in rule.second)
        ):
            return rule.reason
    return ""
