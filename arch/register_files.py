"""Main register files by name: the seven of LTRF's Table 2, as changes to any machine, e.g. `--set rf7`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RegisterFile:
    """Main register file, relative to the machine's own.

    Parameters
    ----------
    banks, rows : factors on the number of banks, and on the rows of each.
    latency : time of an access in hundredths of a cycle (`sub_core.bank_latency`).
    power : power of the whole file relative to the first one, as the paper gives it; for `reproduce`.
    cells : memory cells that it is made of.
    """

    banks: int
    rows: int
    latency: int
    power: float
    cells: str

    def apply(self, values: dict[str, Any]) -> None:
        """Change a machine's nested dictionaries (`SmConfig.to_dict`) to this register file."""
        core = values["sub_core"]
        core["banks"] *= self.banks
        core["rows"] *= self.rows
        core["bank_latency"] = self.latency


REGISTER_FILES: dict[str, RegisterFile] = {
    "rf1": RegisterFile(1, 1, 100, 1.0, "high-performance SRAM"),
    "rf2": RegisterFile(1, 8, 125, 8.0, "high-performance SRAM"),
    "rf3": RegisterFile(8, 1, 150, 8.0, "high-performance SRAM"),
    "rf4": RegisterFile(1, 8, 160, 3.2, "low-standby-power SRAM"),
    "rf5": RegisterFile(8, 1, 280, 3.2, "low-standby-power SRAM"),
    "rf6": RegisterFile(8, 1, 530, 1.05, "tunnel-FET SRAM"),
    "rf7": RegisterFile(8, 1, 630, 0.65, "domain-wall memory"),
}
