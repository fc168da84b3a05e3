"""Warpbank: an open laboratory for GPU register files.

`import warpbank as wb` is the Python API: `wb.run`, `wb.compare`, `wb.sweep`, `wb.explore`, `wb.compile`,
`wb.lockstep`, and the lists `wb.kernels`, `wb.schemes`, `wb.presets`. Names are loaded when they are first
used, so that importing a part of the package stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from warpbank import native

if TYPE_CHECKING:
    from warpbank import api, errors, results
    from warpbank.api import compare, compile, explore, kernels, load, lockstep, presets, run, schemes, sweep
    from warpbank.errors import WarpbankError
    from warpbank.results import Listing, Lockstep, Ptx, Run, SweepResult
    from warpbank.studies.compare import Comparison
    from warpbank.studies.explore import Exploration
    from warpbank.studies.sweep import Sweep

    __version__: str

__all__ = [
    "Comparison",
    "Exploration",
    "Listing",
    "Lockstep",
    "Ptx",
    "Run",
    "Sweep",
    "SweepResult",
    "WarpbankError",
    "__version__",
    "api",
    "compare",
    "compile",
    "errors",
    "explore",
    "kernels",
    "load",
    "lockstep",
    "presets",
    "results",
    "run",
    "schemes",
    "sweep",
]

#: Name -> the module that has it; "" for a module of this package.
_WHERE = {
    **dict.fromkeys(("api", "errors", "results"), ""),
    **dict.fromkeys(
        (
            "compare",
            "compile",
            "explore",
            "kernels",
            "load",
            "lockstep",
            "presets",
            "run",
            "schemes",
            "sweep",
        ),
        "api",
    ),
    **dict.fromkeys(("Listing", "Lockstep", "Ptx", "Run", "SweepResult"), "results"),
    "Comparison": "studies.compare",
    "Exploration": "studies.explore",
    "Sweep": "studies.sweep",
    "WarpbankError": "errors",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("warpbank")
    elif name in _WHERE:
        module = importlib.import_module(f"{__name__}.{_WHERE[name] or name}")
        value = getattr(module, name) if _WHERE[name] else module
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value  # the next use does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


native.install()
