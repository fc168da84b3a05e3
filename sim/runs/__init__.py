"""Task runner: runs are described, executed over all cores or on other machines, and kept by content so that
none is done twice."""

from warpbank.sim.runs.execute import execute
from warpbank.sim.runs.spec import AnalysisSpec, RunSpec, Task
from warpbank.sim.runs.worker import Outcome

__all__ = ["AnalysisSpec", "Outcome", "RunSpec", "Task", "execute"]
