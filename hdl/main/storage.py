"""Storage below the main register file: what a component has to answer beside its ports."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Module

from warpbank.arch.uop import Scalar
from warpbank.hdl.layouts import Collection
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.ports import StorageInterface
from warpbank.hdl.storage.metadata import MetadataWriter


class Storage(StorageInterface, Protocol):
    """Storage under a main register file: a component with the ports `StoragePorts`."""

    @property
    def parts(self) -> int:
        """Parts of a register, each compressed by itself; 0 if nothing is compressed."""

    @property
    def read_delay(self) -> int:
        """Cycles by which an operand comes later than its bank delivers it."""

    @property
    def write_delay(self) -> int:
        """Cycles from taking a write to its end, if it `waits` for nothing."""

    @property
    def waits(self) -> bool:
        """Whether a write may take longer: its bank says when it is `stored`."""

    @property
    def zeros(self) -> int:
        """Metadata of a register of zeros."""

    @property
    def executes(self) -> frozenset[Scalar]:
        """Kinds of scalar execution."""

    def arbiter(self, collection: Collection, shared: bool, probe: bool) -> Arbiter:
        """Make the arbiter of the banks' reads; `shared`: a cache uses the collectors' ports, too."""

    def noter(self) -> MetadataWriter:
        """Make a unit that finds the metadata of a value. Only a storage with metadata has one."""

    def elaborate(self, platform: object) -> Module:
        """Build the storage."""
