"""Studies: questions about register files that take many runs, or a run and an analysis."""
