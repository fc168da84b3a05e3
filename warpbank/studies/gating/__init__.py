"""Power gating of register banks: which registers and sub-arrays are powered, with and without renaming."""

from warpbank.studies.gating.compare import Comparison, compare
from warpbank.studies.gating.drawing import draw
from warpbank.studies.gating.observer import PARTS, WAKE_UP, WINDOW, Gating, Spans

__all__ = ["PARTS", "WAKE_UP", "WINDOW", "Comparison", "Gating", "Spans", "compare", "draw"]
