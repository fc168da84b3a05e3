"""Papers whose figures can be made again: `PAPERS` by name. A new one is a module here, its published values,
and a row."""

from warpbank.studies.reproduce.bow import BOW
from warpbank.studies.reproduce.gscalar import GSCALAR
from warpbank.studies.reproduce.ltrf import LTRF
from warpbank.studies.reproduce.malekeh import MALEKEH
from warpbank.studies.reproduce.paper import Comparison, Figure, Paper
from warpbank.studies.reproduce.renaming import RENAMING
from warpbank.studies.reproduce.run import Reproduction, reproduce

__all__ = ["PAPERS", "Comparison", "Figure", "Paper", "Reproduction", "reproduce"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (BOW, GSCALAR, LTRF, MALEKEH, RENAMING)}
