"""Banks keep what golden's keep, lane by lane."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.lib.memory import Memory
from hypothesis import given

import warpbank.hdl.storage.banks
from tests.hdl.bench import FEW, MACHINES, SEEDS, fails, machines, simulate
from tests.hdl.sub_core_bench import pack
from warpbank.golden.storage.banks import Banks as Golden
from warpbank.hdl.storage.banks import Banks


def lockstep(machine: str, seed: int, unit: Any = Banks) -> None:
    rng = random.Random(seed)
    config = MACHINES[machine]
    core = config.sub_core
    rtl, model = unit(config), Golden(core, config.lanes)

    async def bench(ctx: Any) -> None:
        expected = [0] * core.banks
        for _ in range(200):
            for bank, port in enumerate(rtl.bank):
                assert ctx.get(port.data) == expected[bank]
                row, action = rng.randrange(min(core.rows, 6)), rng.choice(("read", "write", "none"))
                mask = rng.getrandbits(config.lanes)
                value = np.array([rng.getrandbits(32) for _ in range(config.lanes)], np.uint32)
                for name, setting in {
                    "row": row,
                    "read": action == "read",
                    "write": action == "write",
                    "mask": mask,
                    "value": pack(value),
                }.items():
                    ctx.set(getattr(port, name), setting)
                if action == "read":
                    expected[bank] = pack(model.read(bank, row))
                elif action == "write":
                    model.write(bank, row, mask, value)
            await ctx.tick()

    simulate(rtl, bench)


@FEW
@given(machine=machines, seed=SEEDS)
def test_equals_golden(machine: str, seed: int) -> None:
    lockstep(machine, seed)


class Unmasked(Memory):
    """A memory without lane masks."""

    def write_port(self, *, granularity: int | None = None, **more: Any) -> Any:
        port = super().write_port(granularity=granularity, **more)
        if granularity is None:
            return port
        return _Whole(port)


class _Whole:
    def __init__(self, port: Any) -> None:
        self.addr, self.data, self._port = port.addr, port.data, port

    @property
    def en(self) -> Any:
        return _Any(self._port.en)


class _Any:
    def __init__(self, enable: Any) -> None:
        self._enable = enable

    def eq(self, value: Any) -> Any:
        return self._enable.eq(value.any().replicate(len(self._enable)))


def test_dropped_lane_masks_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warpbank.hdl.storage.banks, "Memory", Unmasked)
    assert fails(lambda seed: lockstep("tiny", seed))


def test_needs_a_configuration() -> None:
    with pytest.raises(TypeError, match="Banks needs the machine's configuration, an SmConfig, not 3"):
        Banks(3)  # type: ignore[arg-type]
