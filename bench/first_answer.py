"""Time to the first answer: `python -m bench.first_answer`.

CPU seconds of `warpbank lockstep FILE.ptx --preset tiny` with nothing in any cache: the emulator is compiled,
the RTL is built, model and RTL run. Then of a second kernel, which finds both there.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

#: The kernel of a user, and one that is shipped.
KERNELS = (str(Path(__file__).parents[1] / "examples" / "saxpy" / "saxpy.ptx"), "vectoradd")


def measure() -> list[float]:
    """CPU seconds of both commands, those of their compilers included.

    Raises
    ------
    CalledProcessError : model and RTL differ, or a tool is missing.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "WARPBANK_CACHE": folder, "NUMBA_CACHE_DIR": f"{folder}/numba"}
        for kernel in KERNELS:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-m", "warpbank", "lockstep", kernel, "--preset", "tiny", "--json"]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return found


def main() -> None:
    """Print both."""
    first, second = measure()
    print(f"first answer {first:.0f} s of CPU, a second kernel on that machine {second:.0f} s")


if __name__ == "__main__":
    main()
