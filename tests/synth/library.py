"""A cell library of our own, small enough to read: made-up numbers in the form of a real one, for tests of
the flow."""

from __future__ import annotations

_HEAD = """library (small) {
  /* made up for tests */
  delay_model : table_lookup;
  time_unit : "1ns";
  voltage_unit : "1V";
  leakage_power_unit : "1nW";
  capacitive_load_unit (1,ff);
  nom_voltage : 1.0;
  default_wire_load : "short"
  wire_load ("short") { capacitance : 0.2; resistance : 0; slope : 2;
    fanout_length (1, 1.0); fanout_length (2, 2.5); }
  lu_table_template (delay) {
    variable_1 : input_net_transition;
    variable_2 : total_output_net_capacitance;
    index_1 ("0.01, 0.2");
    index_2 ("1, 50");
  }
  lu_table_template (hold) {
    variable_1 : related_pin_transition;
    variable_2 : constrained_pin_transition;
    index_1 ("0.01, 0.2");
    index_2 ("0.01, 0.2");
  }
"""


def _tables(base: float, slope: float = 0.2) -> str:
    values = f'("{base:.3f}, {base + slope:.3f}", \\\n"{base + 0.02:.3f}, {base + 0.02 + slope:.3f}")'
    slews = '("0.01, 0.15", "0.02, 0.16")'
    return "".join(
        f"cell_{edge} (delay) {{ values {values}; }}\n{edge}_transition (delay) {{ values {slews}; }}\n"
        for edge in ("rise", "fall")
    )


def _gate(
    name: str,
    area: float,
    function: str,
    inputs: str,
    base: float,
    sense: str = "negative_unate",
    size: float = 1.0,
) -> str:
    pins = "".join(f"pin ({pin}) {{ direction : input; capacitance : {size}; }}\n" for pin in inputs)
    tables = _tables(base, 0.2 / size)
    arcs = "".join(
        f'timing () {{ related_pin : "{pin}"; timing_sense : {sense};\n{tables}}}\n' for pin in inputs
    )
    tables = 'rise_power (scalar) { values ("0.5"); } fall_power (scalar) { values ("0.3"); }'
    energy = 'internal_power () { related_pin : "%s"; ' + tables + " }"
    powers = "".join(energy % pin for pin in inputs)
    return (
        f"cell ({name}) {{ area : {area}; cell_leakage_power : {10 * area};\n{pins}"
        f'pin (Y) {{ direction : output; function : "{function}";\n{arcs}{powers}}}\n}}\n'
    )


_SETUP = "".join(
    f'{edge}_constraint (hold) {{ values ("0.03, 0.04", "0.02, 0.03"); }}\n' for edge in ("rise", "fall")
)
_FLOP = f"""cell (DFF) {{ area : 4.0; cell_leakage_power : 40;
  ff ("IQ", "IQN") {{ clocked_on : "C"; next_state : "D"; }}
  pin (C) {{ direction : input; clock : true; capacitance : 1.0;
    internal_power () {{ rise_power (scalar) {{ values ("2.0"); }}
      fall_power (scalar) {{ values ("1.0"); }} }} }}
  pin (D) {{ direction : input; capacitance : 1.0;
    timing () {{ related_pin : "C"; timing_type : setup_rising;
{_SETUP}}} }}
  pin (Q) {{ direction : output; function : "IQ";
    timing () {{ related_pin : "C"; timing_type : rising_edge; timing_sense : non_unate;
{_tables(0.08)}}} }}
}}
"""
_INVERTED = f"""  pin (QN) {{ direction : output; function : "IQN";
    timing () {{ related_pin : "C"; timing_type : rising_edge; timing_sense : non_unate;
{_tables(0.09)}}} }}
"""
#: Larger cells of the same functions, two times the area and the pins, half the slope over the load.
_LARGER = (
    _gate("INV_2", 1.0, "!A", "A", 0.01, size=2.0),
    _gate("NAND2_2", 2.0, "!(A & B)", "AB", 0.015, size=2.0),
    _gate("NOR2_2", 2.0, "(A+B)'", "AB", 0.02, size=2.0),
    _FLOP.replace("(DFF)", "(DFF_2)")
    .replace("area : 4.0", "area : 5.0")
    .replace(_tables(0.08), _tables(0.08, 0.1)),
)
_GATES = {
    "INV": _gate("INV", 0.5, "!A", "A", 0.01),
    "BUF": _gate("BUF", 0.8, "A", "A", 0.03, "positive_unate"),
    "BUF2": _gate("BUF2", 1.1, "A", "A", 0.025, "positive_unate"),
    "NAND2": _gate("NAND2", 1.0, "!(A & B)", "AB", 0.015),
    "NOR2": _gate("NOR2", 1.0, "(A+B)'", "AB", 0.02),
    "XOR2": _gate("XOR2", 2.0, "A ^ B", "AB", 0.04, "non_unate"),
}


def text(without: tuple[str, ...] = (), inverted: bool = False, sizes: bool = False) -> str:
    """The library, some cells left out; `inverted`: flip-flops have an inverted output too; `sizes`: some
    cells have a larger one beside them."""
    cells = _GATES | {"DFF": _FLOP.replace("  pin (Q)", _INVERTED + "  pin (Q)") if inverted else _FLOP}
    larger = "".join(_LARGER) if sizes else ""
    return _HEAD + "".join(body for name, body in cells.items() if name not in without) + larger + "}\n"
