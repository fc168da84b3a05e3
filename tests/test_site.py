"""The documentation builds as a site without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_site_builds(tmp_path: Path) -> None:
    """Strictly: a link that leads nowhere and an anchor that is not there are errors."""
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--config-file",
        str(ROOT / "mkdocs.yml"),
        "--site-dir",
        str(tmp_path / "site"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 30
    for page in pages:
        made = page.parent if page.name in ("index", "README") else page
        assert (tmp_path / "site" / made / "index.html").exists(), page
    text = (tmp_path / "site" / "machine" / "index.html").read_text()
    assert '<pre class="mermaid">' in text
    assert "<table>" in text
