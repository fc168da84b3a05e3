"""`warpbank view`: some cycles of a run as a pipeline for Konata or Perfetto, or as register banks over time.
docs/view.md."""
