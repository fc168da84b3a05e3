"""Many runs: described, executed over all cores or on other machines, kept by content so that none is done twice."""

from sim.runs.execute import Outcome, execute
from sim.runs.spec import RunSpec, Task

__all__ = ["Outcome", "RunSpec", "Task", "execute"]
