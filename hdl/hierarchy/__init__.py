"""Register hierarchies: the path between collectors and register banks."""
