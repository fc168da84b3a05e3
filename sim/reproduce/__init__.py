"""Papers whose figures can be made again: `PAPERS` by name. A new one is a module here, its published values, and a row."""

from sim.reproduce.bow import BOW
from sim.reproduce.gscalar import GSCALAR
from sim.reproduce.ltrf import LTRF
from sim.reproduce.malekeh import MALEKEH
from sim.reproduce.paper import Comparison, Figure, Paper
from sim.reproduce.renaming import RENAMING
from sim.reproduce.run import Reproduction, reproduce

__all__ = ["PAPERS", "Comparison", "Figure", "Paper", "Reproduction", "reproduce"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (BOW, GSCALAR, LTRF, MALEKEH, RENAMING)}
