"""What stands between collectors and the register banks."""
