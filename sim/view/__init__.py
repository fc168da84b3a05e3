"""Views of some cycles of a run, for `warpbank view`: a pipeline for Konata or Perfetto, or register banks
over time. docs/view.md."""
