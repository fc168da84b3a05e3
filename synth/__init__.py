"""Synthesis from the RTL: export of Verilog and RTLIL, area, timing, power and energy."""
