"""The notebook runs from its first cell to its last, and is kept without outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent.parent / "examples" / "first_steps.ipynb"


def _cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def test_it_is_kept_without_outputs(notebook: Any) -> None:
    nbformat.validate(notebook)
    assert all(not cell.outputs and cell.execution_count is None for cell in _cells(notebook))
    assert NOTEBOOK.stat().st_size < 20_000


def test_it_runs(notebook: Any, tmp_path: Path) -> None:
    """Frames and figures are there, and the mistake gives its sentence."""
    made = NotebookClient(
        notebook.copy(), timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in _cells(made) for output in cell.outputs]
    kinds = [kind for output in shown for kind in output.get("data", {})]
    assert kinds.count("application/vnd.plotly.v1+json") == 2
    assert kinds.count("text/html") >= 2
    texts = "".join(output.get("text", "") for output in shown)
    assert "a register file has one collector" in texts
    (figure,) = (
        output.data["application/vnd.plotly.v1+json"]
        for output in _cells(made)[-2].outputs
        if "application/vnd.plotly.v1+json" in output.get("data", {})
    )
    schemes = {"baseline", "bow-wr", "malekeh", "baseline two_level", "ltrf-plus"}
    assert {trace["name"] for trace in figure["data"]} == schemes
