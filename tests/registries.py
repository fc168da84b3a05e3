"""Extensions in tests: what they register is gone afterwards."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import warpbank.arch.schemes
import warpbank.arch.units
import warpbank.golden.registry
import warpbank.hdl.registry
from warpbank.sim import extensions


@contextmanager
def kept() -> Iterator[None]:
    """The registries of schemes and units, and what is loaded, as they were before."""
    registries = [warpbank.arch.schemes.SCHEMES, extensions._LOADED, *warpbank.arch.units.UNITS.values()]
    for rooms in (warpbank.golden.registry, warpbank.hdl.registry):
        registries += [
            value for name, value in vars(rooms).items() if name.isupper() and isinstance(value, dict)
        ]
    before = [dict(registry) for registry in registries]  # type: ignore[call-overload]
    rules, variable = list(warpbank.arch.schemes.RULES), os.environ.get(extensions.VARIABLE)
    try:
        yield
    finally:
        for registry, content in zip(registries, before, strict=True):
            registry.clear()  # type: ignore[attr-defined]
            registry.update(content)  # type: ignore[attr-defined]
        warpbank.arch.schemes.RULES[:] = rules
        os.environ.pop(extensions.VARIABLE, None)
        if variable is not None:
            os.environ[extensions.VARIABLE] = variable
