"""From the RTL to files: Verilog and RTLIL export."""
