"""Files that a command writes: checked before its work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from warpbank.arch.errors import OutputError
from warpbank.sim.output import check_file


@pytest.mark.parametrize("link", [None, os.link, os.symlink])
def test_what_is_read_is_not_written(link: object, tmp_path: Path) -> None:
    source, target = tmp_path / "k.cu", tmp_path / "k.ptx"
    source.touch()
    check_file(target, source, None, tmp_path / "absent")
    if link is None:
        target = tmp_path / ".." / tmp_path.name / "k.cu"
    else:
        assert callable(link)
        link(source, target)
    with pytest.raises(OutputError, match="it is what the command reads; name another file"):
        check_file(target, None, source)
