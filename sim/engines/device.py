"""Generator of device.h, the one generated part of the harness. It names the ports of the SM of one
configuration for harness/*.cpp."""

from __future__ import annotations

from collections.abc import Iterable

from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import EVENTS, Stall
from warpbank.arch.parameters import SmConfig
from warpbank.hdl.cta_dispatch import launch_layout
from warpbank.hdl.layouts import uop_layout
from warpbank.sim.engines.design import Design, Path, field_names, port_name, tail
from warpbank.sim.events import IDS, NAMES

#: Counters that tell that the machine still moves.
_PROGRESS = (
    "issue.uops",
    "fill.uops",
    "rf.reads",
    "rf.writes",
    "dispatch.uops",
    "retire.uops",
    "lsu.uops",
    "shared.passes",
    "l1.hits",
    "l1.misses",
    "l1.merges",
    "l1.stores",
    "l1.atomics",
    "l2.hits",
    "l2.misses",
    "cta.started",
)
#: Fields of a uop that the harness fills in; the others are constant per pc.
DYNAMIC_FIELDS = (
    "seq",
    "mask",
    "memory",
    "collects",
    "arrive",
    "wait",
    "barrier",
    "barrier_warps",
    "last",
    "lines",
    "passes",
    "part",
)


def cpp_name(path: Path) -> str:
    """The port's name in Verilator's C++, where a double underscore is written otherwise."""
    return port_name(path).replace("__", "___05F")


def header(design: Design, config: SmConfig, top: str, operands: list[str], places: list[str]) -> str:
    """Text of device.h.

    Parameters
    ----------
    design : the SM.
    config : its configuration.
    top : name of the Verilog module.
    operands, places : names of the collectors' memories (`tuning.operands`).
    """
    core = config.sub_core
    layout = uop_layout(config)
    lines = [
        "// Generated for one configuration; see sim/engines/device.py.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "#include <cstring>",
        "",
        f'#include "V{top}.h"',
        f'#include "V{top}___024root.h"',
        f'#include "V{top}_sub_core.h"',
        '#include "trace.h"',
        "#if VM_TRACE",
        '#include "verilated_vcd_c.h"',
        "#endif",
        "",
        "namespace device {",
        "",
        f"using Model = V{top};",
        f"constexpr int CORES = {config.sub_cores}, WARPS = {core.warps}, COLLECTORS = {core.collectors};",
        f"constexpr int LANES = {config.lanes};",
        f"constexpr uint32_t LANE_MASK = {config.lane_mask:#x};",
        f"constexpr int UOP_WORDS = {-(-layout.size // 32)};",
        *(f"constexpr int UOP_{name} = {layout[name].offset};" for name in DYNAMIC_FIELDS),
        # No uop of a trace has the bit where the layout has none.
        f"constexpr int UOP_enters = {layout['enters'].offset if config.takes_bits else 0};",
        f"constexpr int COUNTERS = {len(COUNTERS)}, STALLS = {len(Stall)};",
        f"constexpr int EVENTS_PER_CYCLE = {len(design.events)};",
        "inline bool overflow(const Model& model) { return model.overflow; }",
        f"constexpr int TAIL = {tail(config)};",
        *(f"constexpr int EVENT_{name} = {number};" for number, name in enumerate(NAMES)),
        f"constexpr int PROGRESS[] = {{{', '.join(str(list(COUNTERS).index(name)) for name in _PROGRESS)}}};",
        "",
        "// Add an event to the counters that sum it.",
        "template <int EVENT>",
        "inline void count(uint64_t* counters, const uint64_t* fields) {",
        *_count_lines(),
        "}",
        "",
        "// The falling edge of the clock. Nothing happens there, so only Verilator's memory of the clock "
        "is told.",
        "inline void fall(Model& model) {",
        "    model.clk = 0;",
        "    model.rootp->__Vtrigprevexpr___TOP__clk__0 = 0;",
        "}",
        "",
        f"constexpr int TAGS = {design.component.cores[0].collectors.tags(config)};",
        "",
        "// The collectors' slot memories, where the operands are while their uop is dispatched.",
        "struct Operands {",
        "    const char* base[CORES * COLLECTORS];",
        "    size_t step;",
        *_place_members(places),
        "    explicit Operands(Model& model) {",
        "        auto& root = *model.rootp;",
        f"        step = sizeof root.{operands[0]}[0];",
        *(
            f"        base[{place}] = reinterpret_cast<const char*>(&root.{name}[0]);"
            for place, name in enumerate(operands)
        ),
        *_place_setup(places),
        "    }",
        "    // An operand of the uop that was the `tag`th (modulo TAGS) to go through its collector.",
        "    const uint32_t* at(int core, int collector, int tag, int slot) const {",
        "        const int number = core * COLLECTORS + collector;",
        *_place_lookup(places, design, config),
        "        return reinterpret_cast<const uint32_t*>(base[number] + size_t(slot) * step);",
        "    }",
        "};",
        "",
        *_launch_lines(design, config),
        "}  // namespace device",
        "",
        _macro(
            "FILL",
            (
                f"X({place}, {_ports(path, 'valid', 'warp', 'uop')})"
                for place, path in enumerate(design.fills)
            ),
        ),
        _macro(
            "WRITE",
            (
                f"X({number}, {_ports(path, 'valid', 'warp', 'seq', 'register', 'value')})"
                for number, path in design.writes
            ),
        ),
        _macro(
            "IMMEDIATE",
            (f"X({number}, {_ports(path, 'valid', 'pc', 'bits')})" for number, path in design.immediates),
        ),
        _macro(
            "LINE",
            (
                f"X({_ports(path, 'valid', 'sub_core', 'warp', 'seq', 'index', 'line', 'sectors')})"
                for path in design.lines
            ),
        ),
        _macro(
            "EVENT",
            (
                f"X({event.core}, {event.name}, {_ports(event.path, 'valid', *field_names(event.name))})"
                for event in design.events
                if event.name != "fill"
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


def _place_members(places: list[str]) -> list[str]:
    return ["    const char* places[CORES * COLLECTORS];", "    size_t place_step;"] if places else []


def _place_setup(places: list[str]) -> list[str]:
    if not places:
        return []
    return [
        f"        place_step = sizeof root.{places[0]}[0];",
        *(
            f"        places[{number}] = reinterpret_cast<const char*>(&root.{name}[0]);"
            for number, name in enumerate(places)
        ),
    ]


def _place_lookup(places: list[str], design: Design, config: SmConfig) -> list[str]:
    """A uop's row of `places` holds the number of an entry per source slot."""
    if not places:
        return ["        (void)tag;"]
    width = design.component.cores[0].collectors.place_width(config)
    return [
        "        uint64_t row = 0;",
        "        std::memcpy(&row, places[number] + size_t(tag) * place_step, place_step);",
        f"        slot = int(row >> (slot * {width}) & {(1 << width) - 1});",
    ]


def _ports(path: Path, *names: str) -> str:
    return ", ".join(f"model.{cpp_name((*path, name))}" for name in names)


def _macro(name: str, calls: Iterable[str]) -> str:
    return f"#define EACH_{name}(model, X) \\\n" + " \\\n".join(f"    {call}" for call in calls) + "\n"


def _count_lines() -> list[str]:
    """The registry of counters as C++."""
    lines = ["    (void)fields;"]
    for number, counter in enumerate(COUNTERS.values()):
        fields = field_names(counter.event)
        amount = f"fields[{fields.index(counter.field)}]" if counter.field else "1"
        conditions = [f"EVENT == {IDS[counter.event]}"]
        add = f"counters[{number}] += {amount};"
        if counter.when is not None:
            add = f"if (fields[{fields.index(counter.when[0])}] == {int(counter.when[1])}) {add}"
        lines.append(f"    if constexpr ({' && '.join(conditions)}) {{ {add} }}  // {counter.name}")
        if counter.also:
            lines.append(
                f"    if constexpr (EVENT == {IDS[counter.also]}) counters[{number}] += 1;  // {counter.name}"
            )
    assert all(counter.event in EVENTS for counter in COUNTERS.values())
    return lines


def _launch_lines(design: Design, config: SmConfig) -> list[str]:
    """How a launch is offered, and how a CTA's start is told."""
    valid, payload, started = (
        cpp_name(path) for path in (("launch", "valid"), ("launch", "payload"), design.started)
    )
    return [
        f"constexpr int LAUNCH_WORDS = {-(-launch_layout(config).size // 32)};",
        "inline void offer(Model& model, bool any, const uint32_t* payload) {",
        f"    model.{valid} = any;",
        f"    if (any) std::memcpy(&model.{payload}, payload, 4 * LAUNCH_WORDS);",
        "}",
        f"inline bool started(const Model& model) {{ return model.{started}___05Fvalid; }}",
        f"inline int begin(const Model& model) {{ return int(model.{started}___05Fbegin); }}",
        "",
    ]
