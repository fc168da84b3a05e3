"""Generator of device.h, the one generated part of the harness. It names the ports of the SM of one
configuration for harness/*.cpp."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from amaranth.hdl import Value
from amaranth.lib import wiring

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


def header(
    shared: Design, core: Design, config: SmConfig, operands: list[str], places: list[str], gated: bool
) -> str:
    """Text of device.h.

    Parameters
    ----------
    shared, core : the two models, of the units that the sub-cores share and of a sub-core.
    config : the configuration.
    operands, places : names of a sub-core's collectors' memories (`tuning.operands`).
    gated : the sub-core's model has `busy` and `stirred` (`warpbank.sim.engines.quiet`).
    """
    layout = uop_layout(config)
    events = len(shared.events) + config.sub_cores * len(core.events)
    lines = [
        "// Generated for one configuration; see sim/engines/device.py.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "#include <cstring>",
        "#include <type_traits>",
        "",
        *(f'#include "V{top}{part}.h"' for top in ("sm", "sub_core") for part in ("", "___024root")),
        '#include "trace.h"',
        "#if VM_TRACE",
        '#include "verilated_vcd_c.h"',
        "#endif",
        "",
        "namespace device {",
        "",
        "using Shared = Vsm;",
        "using Core = Vsub_core;",
        f"constexpr int CORES = {config.sub_cores}, WARPS = {config.sub_core.warps};",
        f"constexpr int COLLECTORS = {config.sub_core.collectors};",
        f"constexpr int LANES = {config.lanes};",
        f"constexpr uint32_t LANE_MASK = {config.lane_mask:#x};",
        f"constexpr int UOP_WORDS = {-(-layout.size // 32)};",
        *(f"constexpr int UOP_{name} = {layout[name].offset};" for name in DYNAMIC_FIELDS),
        # No uop of a trace has the bit where the layout has none.
        f"constexpr int UOP_enters = {layout['enters'].offset if config.takes_bits else 0};",
        f"constexpr int COUNTERS = {len(COUNTERS)}, STALLS = {len(Stall)};",
        f"constexpr int EVENTS_PER_CYCLE = {events};",
        f"constexpr int TAIL = {tail(config)};",
        *(f"constexpr int EVENT_{name} = {number};" for number, name in enumerate(NAMES)),
        f"constexpr int L2_MISSES = {list(COUNTERS).index('l2.misses')};",
        f"constexpr uint64_t DRAM_INTERVAL = {config.memory.dram_interval};",
        f"constexpr int PROGRESS[] = {{{', '.join(str(list(COUNTERS).index(name)) for name in _PROGRESS)}}};",
        "",
        "// Add an event to the counters that sum it.",
        "template <int EVENT>",
        "inline void count(uint64_t* counters, const uint64_t* fields) {",
        *_count_lines(),
        "}",
        "",
        "// The falling edge of the clocks. Nothing happens there; only Verilator's memory of them is told.",
        *_fall_lines("fall", "Core", ["clk"]),
        *_fall_lines("fall_late", "Shared", ["late"]),
        *_fall_lines("fall", "Shared", ["clk", "late"]),
        "",
        f"constexpr bool GATED = {str(gated).lower()};",
        "inline bool changes(const Core& core) { return "
        + ("core.busy | core.stirred" if gated else "true")
        + "; }",
        "",
        *_told_lines(core, config),
        "",
        f"constexpr int TAGS = {core.component.collectors.tags(config)};",
        "",
        "// The collectors' slot memories, where the operands are while their uop is dispatched.",
        "struct Operands {",
        "    const char* base[CORES * COLLECTORS];",
        "    size_t step;",
        *_place_members(places),
        "    template <class Machine>",
        "    explicit Operands(Machine& machine) {",
        "        for (int core = 0; core < CORES; ++core) {",
        "            auto& root = *machine.core(core).rootp;",
        f"            step = sizeof root.{operands[0]}[0];",
        *_bases("base", operands),
        *_place_setup(places),
        "        }",
        "    }",
        "    // An operand of the uop that was the `tag`th (modulo TAGS) to go through its collector.",
        "    const uint32_t* at(int core, int collector, int tag, int slot) const {",
        "        const int number = core * COLLECTORS + collector;",
        *_place_lookup(places, core, config),
        "        return reinterpret_cast<const uint32_t*>(base[number] + size_t(slot) * step);",
        "    }",
        "};",
        "",
        *_launch_lines(shared, config),
        "}  // namespace device",
        "",
        _macro("FILL", (_ports(path, "valid", "warp", "uop") for path in core.fills)),
        _macro(
            "WRITE", (_ports(path, "valid", "warp", "seq", "register", "value") for _, path in core.writes)
        ),
        _macro("IMMEDIATE", (_ports(path, "valid", "pc", "bits") for _, path in core.immediates)),
        _macro(
            "LINE",
            (
                _ports(path, "valid", "sub_core", "warp", "seq", "index", "line", "sectors")
                for path in shared.lines
            ),
        ),
        *(
            _macro(
                f"{name}_EVENT",
                (
                    f"{event.name}, {_ports(event.path, 'valid', *field_names(event.name))}"
                    for event in design.events
                    if event.name != "fill"
                ),
            )
            for name, design in (("SHARED", shared), ("CORE", core))
        ),
    ]
    return "\n".join(lines) + "\n"


def _fall_lines(name: str, kind: str, clocks: list[str]) -> list[str]:
    return [
        f"inline void {name}({kind}& model) {{",
        *(
            line
            for clock in clocks
            for line in (
                f"    model.{clock} = 0;",
                f"    model.rootp->__Vtrigprevexpr___TOP__{clock}__0 = 0;",
            )
        ),
        "}",
    ]


def _told_lines(core: Design, config: SmConfig) -> list[str]:
    """What a sub-core tells the shared units, and what it hears of them: copies of ports."""
    ports: dict[bool, list[Path]] = {True: [], False: []}
    component = core.component
    for path, member, value in component.signature.shared.flatten(component):
        if len(Value.cast(value)):
            ports[member.flow is wiring.Out].append(path)
    tells, hears = (
        [
            [(cpp_name(("core", number, *path)), cpp_name(path)) for path in ports[out]]
            for number in range(config.sub_cores)
        ]
        for out in (True, False)
    )
    return [
        "// Copy a port; whether it changes.",
        "template <class Port>",
        "inline bool copy(Port& to, const Port& from) {",
        "    bool changed;",
        "    if constexpr (std::is_integral_v<Port>) changed = to != from;",
        "    else changed = std::memcmp(&to, &from, sizeof to);",
        "    to = from;",
        "    return changed;",
        "}",
        "// What a sub-core tells the shared units; whether any of it is new.",
        "inline bool tell(int number, const Core& core, Shared& shared) {",
        "    bool changed = false;",
        *_switch(tells, lambda outer, inner: f"changed |= copy(shared.{outer}, core.{inner});"),
        "    return changed;",
        "}",
        "// What it hears of them.",
        "inline bool hear(int number, const Shared& shared, Core& core) {",
        "    bool changed = false;",
        *_switch(hears, lambda outer, inner: f"changed |= copy(core.{inner}, shared.{outer});"),
        "    return changed;",
        "}",
    ]


def _switch(cores: list[list[tuple[str, str]]], statement: Callable[[str, str], str]) -> list[str]:
    lines = ["    switch (number) {"]
    for number, names in enumerate(cores):
        lines += [f"    case {number}:", *(f"        {statement(*pair)}" for pair in names), "        break;"]
    return [*lines, "    }"]


def _bases(member: str, names: list[str]) -> list[str]:
    return [
        f"            {member}[core * COLLECTORS + {number}] = "
        f"reinterpret_cast<const char*>(&root.{name}[0]);"
        for number, name in enumerate(names)
    ]


def _place_members(places: list[str]) -> list[str]:
    return ["    const char* places[CORES * COLLECTORS];", "    size_t place_step;"] if places else []


def _place_setup(places: list[str]) -> list[str]:
    if not places:
        return []
    return [f"            place_step = sizeof root.{places[0]}[0];", *_bases("places", places)]


def _place_lookup(places: list[str], core: Design, config: SmConfig) -> list[str]:
    """A uop's row of `places` holds the number of an entry per source slot."""
    if not places:
        return ["        (void)tag;"]
    width = core.component.collectors.place_width(config)
    return [
        "        uint64_t row = 0;",
        "        std::memcpy(&row, places[number] + size_t(tag) * place_step, place_step);",
        f"        slot = int(row >> (slot * {width}) & {(1 << width) - 1});",
    ]


def _ports(path: Path, *names: str) -> str:
    return ", ".join(f"model.{cpp_name((*path, name))}" for name in names)


def _macro(name: str, calls: Iterable[str]) -> str:
    return f"#define EACH_{name}(model, X) \\\n" + " \\\n".join(f"    X({call})" for call in calls) + "\n"


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


def _launch_lines(shared: Design, config: SmConfig) -> list[str]:
    """How a launch is offered, and how a CTA's start is told."""
    valid, payload, started = (
        cpp_name(path) for path in (("launch", "valid"), ("launch", "payload"), shared.started)
    )
    return [
        f"constexpr int LAUNCH_WORDS = {-(-launch_layout(config).size // 32)};",
        "inline void offer(Shared& model, bool any, const uint32_t* payload) {",
        f"    model.{valid} = any;",
        f"    if (any) std::memcpy(&model.{payload}, payload, 4 * LAUNCH_WORDS);",
        "}",
        f"inline bool started(const Shared& model) {{ return model.{started}___05Fvalid; }}",
        f"inline int begin(const Shared& model) {{ return int(model.{started}___05Fbegin); }}",
        "",
    ]
