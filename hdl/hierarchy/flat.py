"""The flat hierarchy: collectors read the banks, results are written into them, nothing is in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.hierarchy.ports import Hierarchy, HierarchyPorts
from warpbank.hdl.layouts import Collection
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.ports import follow
from warpbank.hdl.probe import gather


class Flat(Hierarchy):
    """Flat register file hierarchy: all that is asked of it the main register file does.

    Every warp may issue and be active as far as its registers are concerned.

    Parameters
    ----------
    config : the machine.
    main : the main register file.
    collection : the collectors.
    probe : generate `events`: those of the main register file.

    Members
    -------
    those of `warpbank.hdl.hierarchy.ports.HierarchyPorts`. Nothing follows from `activate` to `working`.

    Latency: that of `warpbank.hdl.main.register_file.MainRegisterFile`.
    """

    #: Collectors read the main register file, and no cache does.
    main_needs: Mapping[str, bool] = {"operands": True, "cached": False}

    def __init__(
        self, config: SmConfig, main: MainRegisterFile, collection: Collection, probe: bool = False
    ) -> None:
        self._config, self.main, self.collection, self._probe = config, main, collection, probe
        ports = HierarchyPorts(
            config,
            collection,
            main.layout,
            writes=len(main.write),
            landed=len(main.landed),
            stored=len(main.stored),
            owed=len(main.owed),
        )
        members: dict[str, Any] = dict(ports.members)
        if probe:
            members["events"] = Out(main.events.signature)
        super().__init__(members)
        self.parts, self.executes = main.storage.parts, main.storage.executes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.main = main = self.main
        follow(m, self, main, self._config, self.collection.entries)
        m.d.comb += main.first.eq(self.first)
        wiring.connect(m, wiring.flipped(self.read), main.read)
        for name in ("deliver", "result", "evicted", "write", "landed", "stored", "owed"):
            for outer, inner in zip(getattr(self, name), getattr(main, name), strict=True):
                wiring.connect(m, wiring.flipped(outer), inner)
        if self._probe:
            gather(m, self.events, [main.events])
        return m
