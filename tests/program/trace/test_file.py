"""Trace files: written and read back, damaged, of another version, in the way."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.program.emulator.harness import PARAMETERS, kernel, run
from warpbank.arch.uop import LINE_MASK
from warpbank.program.errors import WarpbankError
from warpbank.program.isa import Block, Const, DType, Imm, Instr, Op, Reg, Sreg
from warpbank.program.trace.file import read_trace, write_trace
from warpbank.program.trace.inspect import summarize
from warpbank.program.trace.schema import CODE, DYNAMIC, LAUNCH, SCHEMA_VERSION, WARP, Trace

ARRAYS = ("ptx_line", "code", "launches", "warps", "dynamic", "values", "lines")


def small_trace() -> Trace:
    """A real trace of a few instructions."""
    code = kernel(
        [
            Block(
                "entry",
                [
                    Instr(Op.S2R, dst=Reg(0), aux=Sreg.TID_X),
                    Instr(
                        Op.IMADW,
                        DType.U32,
                        dst=Reg(2, 2),
                        srcs=(Reg(0), Imm(4), Const(PARAMETERS, 2)),
                        line=4,
                    ),
                    Instr(Op.ST, srcs=(Reg(2, 2), Reg(0))),
                    Instr(Op.EXIT),
                ],
            )
        ]
    )
    trace = run(code, {"out": np.zeros(48, np.uint32)}, block=(48, 1, 1), trace=True).trace
    assert trace is not None
    trace.meta["job"] = "test"
    return trace


def same(a: Trace, b: Trace) -> bool:
    plain = (a.meta, a.kernels, a.first_pc, a.text) == (b.meta, b.kernels, b.first_pc, b.text)
    return plain and all(
        (getattr(a, n) == getattr(b, n)).all() and getattr(a, n).dtype == getattr(b, n).dtype for n in ARRAYS
    )


def test_round_trip(tmp_path: Path) -> None:
    trace = small_trace()
    path = tmp_path / "t.npz"
    write_trace(trace, path)
    assert same(read_trace(path), trace)
    first = path.read_bytes()
    write_trace(trace, path)
    assert path.read_bytes() == first, "the same trace is the same file"
    assert [p.name for p in tmp_path.iterdir()] == ["t.npz"]


def test_numpy_alone_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The five lines of docs/trace.md, run."""
    write_trace(small_trace(), tmp_path / "t.npz")
    page = (Path(__file__).parents[3] / "docs" / "trace.md").read_text()
    (lines,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(lines, found)
    assert found["opcodes"].tolist() == [Op.S2R, Op.IMADW, Op.ST, Op.EXIT]
    assert found["first_values"].tolist() == [*range(32, 48), *[0] * 16]
    assert json.loads(bytes(found["trace"]["header"]))["schema"] == SCHEMA_VERSION


def test_the_page_names_every_field() -> None:
    page = (Path(__file__).parents[3] / "docs" / "trace.md").read_text()
    for dtype in (CODE, LAUNCH, WARP, DYNAMIC):
        for name in dtype.names or ():
            assert f"`{name}`" in page, name


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(WarpbankError) as caught:
        read_trace(path)
    text = str(caught.value)
    assert "\n" not in text
    for part in (str(path), *parts):
        assert part in text, text


@pytest.mark.parametrize("keep", [0, 10, 100, 0.5, -30, -1])
def test_truncated(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "t.npz"
    write_trace(small_trace(), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if isinstance(keep, float) else keep])
    refused(path, "warpbank trace write")


def test_flipped_bytes_are_found(tmp_path: Path) -> None:
    """Every byte of a member is under the zip's checksum, every one of the directory is needed."""
    path = tmp_path / "t.npz"
    trace = small_trace()
    write_trace(trace, path)
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for place in rng.integers(0, len(content), 60).tolist():
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x5A]) + content[place + 1 :])
        try:
            found = read_trace(path)
        except WarpbankError as error:
            message = str(error)
        else:
            assert same(found, trace), f"byte {place}"
            continue
        assert str(path) in message


def test_not_a_trace(tmp_path: Path) -> None:
    refused(tmp_path / "nothere.npz", "no trace file")
    path = tmp_path / "text.npz"
    path.write_text("hello")
    refused(path, "damaged")
    np.savez(path, a=np.zeros(3))
    refused(path, "not a trace file")
    np.save(tmp_path / "a.npy", np.zeros(3))
    refused(tmp_path / "a.npy", "not a trace file")
    refused(tmp_path)


def rewritten(path: Path, name: str, content: bytes) -> None:
    """Replace one member of a trace file."""
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    members[name] = content
    with zipfile.ZipFile(path, "w") as archive:
        for n, data in members.items():
            archive.writestr(n, data)


def npy(tmp_path: Path, array: np.ndarray) -> bytes:
    np.save(tmp_path / "x.npy", array)
    return (tmp_path / "x.npy").read_bytes()


def test_another_version(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    write_trace(small_trace(), path)
    header = json.loads(bytes(np.load(path)["header"]))
    header["schema"] += 1
    rewritten(path, "header.npy", npy(tmp_path, np.frombuffer(json.dumps(header).encode(), np.uint8)))
    refused(path, f"schema version {SCHEMA_VERSION + 1}", f"reads {SCHEMA_VERSION}", "warpbank trace write")


def test_arrays_that_do_not_belong_together(tmp_path: Path) -> None:
    trace = small_trace()
    for name, array, word in (
        ("dynamic", trace.dynamic[:3], "a warp"),
        ("values", trace.values[:1], "a value"),
        ("lines", trace.lines[:0], "a line"),
        ("lines", trace.lines & np.uint64(LINE_MASK), "none of its sectors"),
        ("lines", trace.lines | np.uint64(1 << 61), "a fifth"),
        ("code", trace.code[:1], "length"),
        ("values", trace.values.astype(np.int64), "layout"),
    ):
        path = tmp_path / f"{name}.npz"
        write_trace(trace, path)
        rewritten(path, f"{name}.npy", npy(tmp_path, array))
        refused(path, word)


def test_crafted_files(tmp_path: Path) -> None:
    """Whole zips with the right layout and numbers or a header that cannot be."""
    trace = small_trace()
    path = tmp_path / "t.npz"
    for name, fieldname, value in (
        ("dynamic", "pc", 2**32 - 1),
        ("dynamic", "line", 2**63 + 5),
        ("dynamic", "value", 2**64 - 1),
        ("dynamic", "memory", 99),
        ("warps", "first", 2**63),
        ("warps", "length", 2**32 - 1),
        ("warps", "launch", 7),
        ("launches", "kernel", 9),
        ("launches", "first_warp", 2**31),
        ("launches", "ctas", 2**32 - 1),
        ("code", "unit", 200),
        ("code", "opcode", 255),
        ("code", "control", 77),
        ("code", "dtype", 250),
        ("code", "source_count", 9),
        ("code", "count", 200),
    ):
        array = getattr(trace, name).copy()
        array[fieldname][0] = value
        write_trace(trace, path)
        rewritten(path, f"{name}.npy", npy(tmp_path, array))
        refused(path, "damaged")
    for name, array in (
        ("values", trace.values[:, :4]),
        ("lines", trace.lines.reshape(1, -1)),
        ("dynamic", trace.dynamic[None]),
    ):
        write_trace(trace, path)
        rewritten(path, f"{name}.npy", npy(tmp_path, array))
        refused(path, "damaged")
    header = json.loads(bytes(np.load(path)["header"]))
    for change in (
        {"meta": None},
        {"kernels": 3},
        {"first_pc": ["x"]},
        {"first_pc": [-1]},
        {"text": None},
        {"kernels": []},
    ):
        write_trace(trace, path)
        text = json.dumps(header | change).encode()
        rewritten(path, "header.npy", npy(tmp_path, np.frombuffer(text, np.uint8)))
        refused(path, "damaged")
    rewritten(path, "header.npy", npy(tmp_path, np.frombuffer(b"[1, 2]", np.uint8)))
    refused(path, "not a trace file")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WarpbankError, match="cannot be written"):
        write_trace(small_trace(), tmp_path / "no" / "t.npz")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    trace = small_trace()
    write_trace(trace, path)
    trace.meta["broken"] = object()
    with pytest.raises(TypeError):
        write_trace(trace, path)
    del trace.meta["broken"]
    assert same(read_trace(path), trace)
    assert len(list(tmp_path.iterdir())) == 1


def test_summary() -> None:
    summary = summarize(small_trace())
    json.dumps(summary)
    assert summary["job"] == "test"
    assert summary["warp_instructions"] == 8
    assert summary["thread_instructions"] == 4 * 48
    assert summary["divergent_share"] == 0.0, "lanes that do not exist are not divergence"
    assert summary["instructions by opcode"] == {"exit": 2, "imadw": 2, "s2r": 2, "st": 2}
    assert summary["memory accesses"] == {"store_global": 2, "store_global, lines each": 1.0}
    assert summary["distinct_lines"] == 2
