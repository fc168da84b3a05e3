"""Files that a command writes: checked before its work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from warpbank.arch.errors import OutputError
from warpbank.sim.output import check_file, check_folder, write_text


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


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/file")
    for text in ("new", "written over"):
        check_file(tmp_path / "link")
        write_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert [each.name for each in (tmp_path / "elsewhere").iterdir()] == ["file"]
        assert (tmp_path / "elsewhere" / "file").read_text() == text


def test_a_link_into_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere/file")
    with pytest.raises(OutputError, match="No such file or directory"):
        check_file(tmp_path / "link")


def test_a_device_or_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="it is a device or a pipe; name a file"):
        check_file(pipe)
    with pytest.raises(OutputError, match="it is no regular file"):
        write_text(pipe, "")
    assert pipe.is_fifo()


@pytest.mark.parametrize(("text", "written"), [("\u00b1", b"\xc2\xb1"), ("\udcff", rb"\udcff")])
def test_text_is_utf_8_in_every_locale(text: str, written: bytes, tmp_path: Path) -> None:
    write_text(tmp_path / "file", text)
    assert (tmp_path / "file").read_bytes() == written


def test_files_of_a_folder_are_checked_where_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "page.json").mkdir()
    check_folder(tmp_path, "page.html")
    check_folder(tmp_path / "new", "page.json")
    with pytest.raises(OutputError, match=r"page\.json: it is a folder; name a file"):
        check_folder(tmp_path, "page.html", "page.json")


def test_a_name_that_is_too_long_is_one_sentence(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 300)
    with pytest.raises(OutputError, match=r"cannot write .*: File name too long; name a folder"):
        check_file(long)
    with pytest.raises(OutputError, match=r"cannot make the folder .*: File name too long; .* with --junit"):
        check_folder(long / "inner", option="--junit")
