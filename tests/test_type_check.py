"""The type check sees the whole package under its installed names."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.type_check import ROOT, links

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_package_has_its_link(tmp_path: Path) -> None:
    links(tmp_path)
    for package in SETTINGS["packages"]:
        assert (tmp_path.joinpath(*package.split(".")) / "__init__.py").is_file(), package


def test_links_lead_to_the_sources(tmp_path: Path) -> None:
    """A second call replaces what the first one made."""
    (links(tmp_path) / "gone.py").write_text("")
    package = links(tmp_path)
    assert not (package / "gone.py").exists()
    assert (package / "golden" / "sm.py").resolve() == ROOT / "golden" / "sm.py"
    assert (package / "cli").resolve() == ROOT / "warpbank" / "cli"
    assert (package / "py.typed").exists()
