"""docs/units/: every unit has a page, and every port that its class documents stands on it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from hdl.collector.arbiter import Arbiter
from hdl.collector.boc import Boc
from hdl.collector.ccu import Ccu
from hdl.collector.ocu import Ocu
from hdl.collector.window import Inserter
from hdl.execute.pipelines import Pipelines
from hdl.execute.result_arbiter import ResultArbiter
from hdl.execute.scalar import KeptScalarLanes, ScalarLanes
from hdl.front_end.cache_aware import CacheAware
from hdl.front_end.gto import Gto
from hdl.front_end.instruction_buffer import InstructionBuffers
from hdl.front_end.issue import InFlight, Status
from hdl.front_end.lrr import Lrr
from hdl.front_end.scoreboard import Scoreboard
from hdl.front_end.sthld import Sthld
from hdl.front_end.two_level import TwoLevel
from hdl.hierarchy.allocation import AddressAllocation
from hdl.hierarchy.beside import Beside
from hdl.hierarchy.compressed import Compressed
from hdl.hierarchy.compressed_ltrf import CompressedLtrf
from hdl.hierarchy.flat import Flat
from hdl.hierarchy.ltrf import Ltrf
from hdl.hierarchy.mover import Mover
from hdl.hierarchy.rfc import Departing
from hdl.hierarchy.scalar_file import ScalarFile
from hdl.hierarchy.tags import TagRow
from hdl.hierarchy.wcb import WarpControlBlocks
from hdl.lfsr import Lfsr
from hdl.mapping.availability import Availability
from hdl.mapping.direct import Direct
from hdl.mapping.exempt import Exempt
from hdl.mapping.flag_cache import FlagCache
from hdl.mapping.names import Names
from hdl.mapping.release import Release
from hdl.mapping.renaming import Renaming
from hdl.mapping.reserve import Reserve
from hdl.mapping.table import RenamingTable
from hdl.storage.banks import Banks
from hdl.storage.bdi import BdiCompressor, BdiDecompressor
from hdl.storage.bdi_banks import BdiBanks
from hdl.storage.compressor import Compressor
from hdl.storage.decompressor import Decompressor
from hdl.storage.gscalar import GScalar
from hdl.storage.moves import Moves
from hdl.storage.notes import Noter
from hdl.storage.pace import Pace, SlowBanks
from hdl.storage.scalar_rf import ScalarRf

PAGES = Path(__file__).parent.parent.parent / "docs" / "units"
UNITS: dict[str, tuple[type, ...]] = {
    "instruction_buffer": (InstructionBuffers,),
    "scoreboard": (Scoreboard,),
    "issue": (Status, InFlight),
    "schedulers": (Lrr, Gto, CacheAware, TwoLevel),
    "sthld": (Sthld,),
    "boc": (Boc, Inserter),
    "ccu": (Ccu, Lfsr),
    "ocu": (Ocu,),
    "arbiter": (Arbiter,),
    "flat": (Flat,),
    "ltrf": (Ltrf, WarpControlBlocks, AddressAllocation, Mover),
    "rfc": (Beside, TagRow, Departing),
    "pace": (Pace, SlowBanks),
    "direct": (Direct,),
    "renaming": (Renaming, RenamingTable, Availability, Names, Release, Exempt, Reserve, FlagCache),
    "banks": (Banks,),
    "compressor": (Compressor, Decompressor),
    "gscalar": (GScalar, Moves, ScalarLanes, KeptScalarLanes, Compressed, CompressedLtrf, Noter),
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
        names = [n.strip() for group in re.findall(r"([\w, ]+?) : (?:In|Out)", members) for n in group.split(",")]
        assert names
        for name in names:
            assert f"`{name}`" in text, f"{unit.__name__}.{name}"


def test_the_index_names_every_page() -> None:
    index = (PAGES / "README.md").read_text()
    for page in PAGES.glob("*.md"):
        if page.stem != "README":
            assert f"({page.name})" in index, page.name
