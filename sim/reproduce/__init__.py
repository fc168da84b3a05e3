"""Papers whose figures can be made again: `PAPERS` by name. A new one is a module here, its published values, and a row."""

from warpbank.sim.reproduce.bow import BOW
from warpbank.sim.reproduce.gscalar import GSCALAR
from warpbank.sim.reproduce.ltrf import LTRF
from warpbank.sim.reproduce.malekeh import MALEKEH
from warpbank.sim.reproduce.paper import Comparison, Figure, Paper
from warpbank.sim.reproduce.renaming import RENAMING
from warpbank.sim.reproduce.run import Reproduction, reproduce

__all__ = ["PAPERS", "Comparison", "Figure", "Paper", "Reproduction", "reproduce"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (BOW, GSCALAR, LTRF, MALEKEH, RENAMING)}
