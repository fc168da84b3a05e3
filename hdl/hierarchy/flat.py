"""The flat hierarchy: collectors read the banks, results are written into them, nothing is in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.front_end.instruction_buffer import HazardsInterface
from warpbank.hdl.front_end.scoreboard import OwedInterface
from warpbank.hdl.hierarchy.ports import HierarchyPorts
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Collection,
    DeliveryInterface,
    ReadDoneInterface,
    StartInterface,
    WriteBackInterface,
    WrittenInterface,
)
from warpbank.hdl.main.register_file import MainRegisterFile
from warpbank.hdl.mapping.ports import follow
from warpbank.hdl.probe import EventsInterface, gather
from warpbank.hdl.storage.decompress_moves import StoredInterface


class Flat(wiring.Component):
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

    start: StartInterface
    launch: Signal
    here: Signal
    hazards: list[HazardsInterface]
    missing: list[Signal]
    lacking: Signal
    issue: AlwaysInterface
    slide: Signal
    entry: Signal
    done: list[ReadDoneInterface]
    finished: list[WrittenInterface]
    end: Signal
    read: AlwaysInterface
    deliver: list[DeliveryInterface]
    result: list[stream.Interface]
    evicted: list[stream.Interface]
    first: Signal
    write: list[WriteBackInterface]
    keep: list[WriteBackInterface]
    landed: list[WrittenInterface]
    stored: list[StoredInterface]
    owed: list[OwedInterface]
    activate: Signal
    activated: Signal
    deactivate: Signal
    ended: Signal
    quiet: Signal
    prefetch: Signal
    prefetching: Signal
    working: Signal
    may_issue: Signal
    may_activate: Signal
    events: EventsInterface

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
