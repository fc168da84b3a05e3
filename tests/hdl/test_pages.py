"""docs/units/: every unit has a page, and every port that its class documents stands on it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.collector.ccu import Ccu
from warpbank.hdl.collector.ocu import Ocu
from warpbank.hdl.collector.window import Inserter
from warpbank.hdl.cta_dispatch import CtaDispatch
from warpbank.hdl.execute.lsu import Lsu
from warpbank.hdl.execute.pipelines import Pipelines
from warpbank.hdl.execute.result_arbiter import ResultArbiter
from warpbank.hdl.execute.scalar import KeptScalarLanes, ScalarLanes
from warpbank.hdl.front_end.barrier import Barriers
from warpbank.hdl.front_end.cache_aware import CacheAware
from warpbank.hdl.front_end.gto import Gto
from warpbank.hdl.front_end.instruction_buffer import InstructionBuffers
from warpbank.hdl.front_end.issue import InFlight, Status
from warpbank.hdl.front_end.lrr import Lrr
from warpbank.hdl.front_end.scoreboard import Scoreboard
from warpbank.hdl.front_end.sthld import Sthld
from warpbank.hdl.front_end.two_level import TwoLevel
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.hierarchy.compressed import Compressed
from warpbank.hdl.hierarchy.compressed_ltrf import CompressedLtrf
from warpbank.hdl.hierarchy.flat import Flat
from warpbank.hdl.hierarchy.ltrf import Ltrf
from warpbank.hdl.hierarchy.mover import Mover
from warpbank.hdl.hierarchy.result_cache import ResultCache
from warpbank.hdl.hierarchy.rfc import Departing
from warpbank.hdl.hierarchy.scalar_file import ScalarFile
from warpbank.hdl.hierarchy.tags import TagRow
from warpbank.hdl.hierarchy.wcb import WarpControlBlocks
from warpbank.hdl.lfsr import Lfsr
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.bank_timing import BankTiming, FractionalLatency
from warpbank.hdl.mapping.availability import Availability
from warpbank.hdl.mapping.deadlock_reserve import DeadlockReserve
from warpbank.hdl.mapping.direct import Direct
from warpbank.hdl.mapping.exempt import Exempt
from warpbank.hdl.mapping.flag_cache import FlagCache
from warpbank.hdl.mapping.operand_lookup import OperandLookup
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.renaming import Renaming
from warpbank.hdl.mapping.table import RenamingTable
from warpbank.hdl.sm import Sm
from warpbank.hdl.storage.banks import Banks
from warpbank.hdl.storage.bdi import BdiCompressor, BdiDecompressor
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.compressor import Compressor
from warpbank.hdl.storage.decompress_moves import DecompressMoves
from warpbank.hdl.storage.decompressor import Decompressor
from warpbank.hdl.storage.gscalar import GScalar
from warpbank.hdl.storage.metadata import MetadataWriter
from warpbank.hdl.storage.scalar_rf import ScalarRf

PAGES = Path(__file__).parent.parent.parent / "docs" / "units"
UNITS: dict[str, tuple[type, ...]] = {
    "instruction_buffer": (InstructionBuffers,),
    "scoreboard": (Scoreboard,),
    "issue": (Status, InFlight),
    "schedulers": (Lrr, Gto, CacheAware, TwoLevel),
    "sthld": (Sthld,),
    "barrier": (Barriers,),
    "cta_dispatch": (CtaDispatch,),
    "lsu": (Lsu,),
    "sm": (Sm,),
    "boc": (Boc, Inserter),
    "ccu": (Ccu, Lfsr),
    "ocu": (Ocu,),
    "arbiter": (Arbiter,),
    "flat": (Flat,),
    "ltrf": (Ltrf, WarpControlBlocks, AddressAllocation, Mover),
    "rfc": (ResultCache, TagRow, Departing),
    "bank_timing": (FractionalLatency, BankTiming),
    "direct": (Direct,),
    "renaming": (
        Renaming,
        RenamingTable,
        Availability,
        OperandLookup,
        Release,
        Exempt,
        DeadlockReserve,
        FlagCache,
    ),
    "banks": (Banks,),
    "compressor": (Compressor, Decompressor),
    "gscalar": (
        GScalar,
        DecompressMoves,
        ScalarLanes,
        KeptScalarLanes,
        Compressed,
        CompressedLtrf,
        MetadataWriter,
    ),
    "bdi": (BdiCompressor, BdiDecompressor, BdiBanks),
    "scalar_rf": (ScalarRf, ScalarFile),
    "pipelines": (Pipelines,),
    "result_arbiter": (ResultArbiter,),
}


@pytest.mark.parametrize("page", UNITS)
def test_every_port_stands_on_its_page(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text()
    for unit in UNITS[page]:
        members = inspect.cleandoc(unit.__doc__ or "").split("Members\n-------\n")[1].split("\n\n")[0]
        names = [
            n.strip() for group in re.findall(r"([\w, ]+?) : (?:In|Out)", members) for n in group.split(",")
        ]
        assert names
        for name in names:
            assert f"`{name}`" in text, f"{unit.__name__}.{name}"


def test_the_index_names_every_page() -> None:
    index = (PAGES / "README.md").read_text()
    for page in PAGES.glob("*.md"):
        if page.stem != "README":
            assert f"({page.name})" in index, page.name
