"""Many runs: described, executed over all cores or on other machines, kept by content so that none is done twice."""

from sim.runs.execute import execute
from sim.runs.spec import RunSpec, Task
from sim.runs.worker import Outcome

__all__ = ["Outcome", "RunSpec", "Task", "execute"]
