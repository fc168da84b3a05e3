"""Main register files by name: the seven of LTRF's Table 2, as changes to any machine, e.g. `--set rf7`.

The table's latencies "include queuing delays incurred due to bank conflicts" (section 2.2), relative to those
of the first file. `rf7` reads them as the time of a bank's access, `rf7-average` as the average from a read's
request to its grant: its banks take what makes that average the table's (`python -m bench.register_files`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class RegisterFile:
    """Main register file, relative to the machine's own.

    Parameters
    ----------
    banks, rows : factors on the number of banks, and on the rows of each.
    latency : time of an access in hundredths of a cycle (`sub_core.bank_latency`).
    average : that time, if the table's latency is the average of a read with queueing.
    power : power of the whole file relative to the first one, as the paper gives it; for `reproduce`.
    cells : memory cells that it is made of.
    """

    banks: int
    rows: int
    latency: int
    average: int
    power: float
    cells: str

    def apply(self, values: dict[str, Any]) -> None:
        """Change a machine's nested dictionaries (`SmConfig.to_dict`) to this register file."""
        core = values["sub_core"]
        core["banks"] *= self.banks
        core["rows"] *= self.rows
        core["bank_latency"] = self.latency


#: By the name of a configuration.
TABLE2: dict[str, RegisterFile] = {
    "rf1": RegisterFile(1, 1, 100, 100, 1.0, "high-performance SRAM"),
    "rf2": RegisterFile(1, 8, 125, 145, 8.0, "high-performance SRAM"),
    "rf3": RegisterFile(8, 1, 150, 177, 8.0, "high-performance SRAM"),
    "rf4": RegisterFile(1, 8, 160, 180, 3.2, "low-standby-power SRAM"),
    "rf5": RegisterFile(8, 1, 280, 306, 3.2, "low-standby-power SRAM"),
    "rf6": RegisterFile(8, 1, 530, 515, 1.05, "tunnel-FET SRAM"),
    "rf7": RegisterFile(8, 1, 630, 586, 0.65, "domain-wall memory"),
}
#: By the name of an override: each configuration with either reading of its latency.
REGISTER_FILES: dict[str, RegisterFile] = {
    **TABLE2,
    **{f"{name}-average": replace(file, latency=file.average) for name, file in TABLE2.items()},
}
