"""Pages that people open in a browser: one file each, nothing loaded from elsewhere."""

from warpbank.sim.report.colours import marker
from warpbank.sim.report.page import Page, Plot, Section, Table, html

__all__ = ["Page", "Plot", "Section", "Table", "html", "marker"]
