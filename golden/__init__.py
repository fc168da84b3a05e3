"""Golden model: the cycle-accurate machine in plain readable Python. It is the specification that the RTL in
hdl/ matches cycle by cycle.

Every unit works on the state of the clock edge: what a unit writes in a cycle, others see in the next one.
Two wires within a cycle are exceptions, and documented as such: a bank that is written cannot be read, and a
refused dispatch colours the scheduler's stall reason.
"""
