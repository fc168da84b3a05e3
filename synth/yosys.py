"""Yosys of the pyosys wheel, in a process of its own: an error of a pass ends the process that runs it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from warpbank.synth.errors import MapperError, YosysError

#: On Linux it ends with the process that started it (PR_SET_PDEATHSIG, SIGKILL): mapping takes up to an hour.
_PROGRAM = """
import ctypes, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin.read().splitlines():
    libyosys.run_pass(line, design)
"""
#: How Yosys begins to say that ABC failed, or ended without a netlist.
_MAPPER = ("ERROR: ABC: ", "ERROR: Can't open ABC ")
#: ... that it was killed, which a shell tells as 128 and the signal.
_KILLED = "failed: return code 137 "


def version() -> str:
    """Version of the pyosys wheel. Raises YosysError if it is not installed."""
    try:
        return importlib.metadata.version("pyosys")
    except importlib.metadata.PackageNotFoundError:
        raise YosysError(
            "the pyosys package, which carries Yosys, is not installed; install it with: pip install "
            "'warpbank[rtl]'"
        ) from None


def run(passes: list[str], folder: Path) -> str:
    """Run passes on an empty design in `folder` and return what Yosys printed. Raises YosysError with its
    last lines, MapperError where ABC failed. That it was killed says nothing of library or design, and is no
    MapperError: another way of mapping would hide it."""
    version()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], cwd=folder, input="\n".join(passes), capture_output=True, text=True
    )
    output = done.stdout + done.stderr
    if done.returncode:
        if _KILLED in output:
            raise YosysError(
                "ABC was killed, as the system does with the largest process when memory is short: end other "
                "programs, or add swap; `ltrf`, of 1.4 million cells, takes 19 GB"
            )
        tail = "\n".join(output.strip().splitlines()[-10:])
        error = MapperError if any(words in output for words in _MAPPER) else YosysError
        raise error(f"Yosys failed (exit code {done.returncode}): {tail}")
    return output
