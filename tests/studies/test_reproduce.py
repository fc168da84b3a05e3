"""`warpbank reproduce`: figures from runs, published values beside them, files, resumption and mistakes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import warpbank
from tests.sim.report.test_page import Tree
from warpbank import workloads
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import SCHEMES
from warpbank.arch.uop import Unit
from warpbank.program.errors import WarpbankError
from warpbank.program.options import DEFAULT_OPTIONS, CodeOrder, CompileOptions, ConstantPlace
from warpbank.program.trace.builder import BRANCH, TraceBuilder, alu
from warpbank.sim import experiment as exp
from warpbank.sim.events import Batch, encode
from warpbank.sim.runs import RunSpec, Task, store
from warpbank.studies.reproduce import PAPERS, Figure, Paper, reproduce
from warpbank.studies.reproduce import paper as papers
from warpbank.studies.reproduce.observe import Stages
from warpbank.studies.reproduce.page import page
from warpbank.studies.reproduce.paper import MEANS, SHAPES, Comparison, Published, published, table_rows
from warpbank.studies.reproduce.run import Reproduction
from warpbank.studies.reproduce.write import markdown, write


def _spec(kernel: str, size: str) -> RunSpec:
    """A run that fails for nbody: its CTA does not fit."""
    return RunSpec(kernel, size, preset="tiny", overrides=("sub_core.rows=1",) if kernel == "nbody" else ())


def _tasks(kernel: str, size: str) -> list[Task]:
    return [_spec(kernel, size)]


SMALL = Paper(
    "small",
    "A paper of this test",
    (
        Figure(
            "fig1",
            "Fig. 1: IPC",
            "uops",
            ("ipc", "twice"),
            _tasks,
            lambda kernel, size, results: (
                results[_spec(kernel, size)]["ipc"],
                2 * results[_spec(kernel, size)]["ipc"],
            ),
            "They had other kernels.",
        ),
        Figure(
            "fig2",
            "Fig. 2: cycles",
            "cycles",
            ("cycles",),
            _tasks,
            lambda kernel, size, results: (float(results[_spec(kernel, size)]["cycles"]),),
            "Another machine.",
            kernels=("nn",),
        ),
    ),
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paper]:
    """The paper of this test, with published values, and a cache of its own."""
    folder = tmp_path / "package" / "published"
    folder.mkdir(parents=True)
    (folder / "small.toml").write_text('[fig1]\nsource = "their Fig. 1"\nvalues = { "ipc" = 0.5 }\n')
    monkeypatch.setattr(papers, "files", lambda package: tmp_path / "package")
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(PAPERS, "small", SMALL)
    published.cache_clear()
    yield SMALL
    published.cache_clear()


def test_every_kernel_is_compiled_as_asked(small: Paper) -> None:
    options = CompileOptions(CodeOrder.SOURCE, ConstantPlace.REGISTERS)
    usual, other = (reproduce(small, ["nn"], "tiny", options=each) for each in (DEFAULT_OPTIONS, options))
    assert usual.made_by["compile"]["code_order"] == "scheduled"
    assert other.made_by["compile"] == options.to_dict()
    assert other.made_by["command"].endswith("--code-order source --constants registers")
    alone = replace(_spec("nn", "tiny"), compile=options).compute()["ipc"]
    assert other.comparisons[0].rows["nn"][0] == alone
    assert usual.comparisons[0].rows["nn"][0] != alone


def test_a_figure_by_hand(small: Paper) -> None:
    kernels = ["vectoradd", "nn"]
    ipc = [exp.run(_spec(kernel, "tiny").experiment()).result.ipc for kernel in kernels]
    made = reproduce(small, kernels, "tiny")
    first, second = made.comparisons
    assert first.rows == {kernel: (value, 2 * value) for kernel, value in zip(kernels, ipc, strict=True)}
    assert first.mean == pytest.approx((sum(ipc) / 2, sum(ipc)))
    assert first.published.values == {"ipc": 0.5}
    ours = sum(ipc) / 2
    difference = f"ipc: ours {ours:.1f} uops, published 0.5 uops, difference {ours - 0.5:+.1f}."
    assert first.sentences == [difference, "They had other kernels."]
    assert list(second.rows) == ["nn"]
    assert second.published.rows == {}
    assert made.failures == {}


def test_a_failed_run_leaves_its_kernel_out(small: Paper) -> None:
    made = reproduce(small, ["vectoradd", "nbody"], "tiny")
    assert list(made.comparisons[0].rows) == ["vectoradd"]
    (cause,) = made.failures.values()
    assert "CTA" in cause
    assert f"- failed: nbody baseline sub_core.rows=1: {cause}" in markdown(made)


def test_every_run_failed(small: Paper) -> None:
    made = reproduce(small, ["nbody"], "tiny", figures=["fig1"])
    assert made.comparisons[0].rows == {}
    assert made.comparisons[0].sentences == [
        "ipc: published 0.5 uops, ours is not here.",
        "They had other kernels.",
    ]


def test_files(small: Paper, tmp_path: Path) -> None:
    made = reproduce(small, ["vectoradd", "nn"], "tiny")
    paths = write(made, tmp_path / "a" / "b")
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(
        path.name for path in paths
    )
    assert {path.name for path in paths} == {
        "small.html",
        "small.md",
        "small.json",
        "small-fig1.csv",
        "small-fig2.csv",
    }
    data = json.loads((tmp_path / "a" / "b" / "small.json").read_text())
    assert data == json.loads(json.dumps(made.to_dict()))
    by = data["made_by"]
    assert by["command"] == "warpbank reproduce small --size tiny --kernel vectoradd --kernel nn"
    assert by["configurations"]
    assert by["versions"]["warpbank"]
    assert by["seed"] == "sub_core.collector.seed=1"
    lines = (tmp_path / "a" / "b" / "small-fig1.csv").read_text().splitlines()
    assert json.loads(lines[0].removeprefix("# ")) == by
    rows = list(csv.reader(lines[1:]))
    assert rows[0] == ["kernel", "ipc", "twice"]
    assert [row[0] for row in rows[1:]] == ["vectoradd", "nn", "mean", "published"]
    assert float(rows[1][1]) == made.comparisons[0].rows["vectoradd"][0]
    assert rows[4][1:] == ["0.5", ""]
    figures = Tree((tmp_path / "a" / "b" / "small.html").read_text()).figures
    drawn = [json.loads(figure)["data"] for figure in figures]
    assert [[trace["name"] for trace in traces] for traces in drawn] == [["ipc", "twice"], ["cycles"]]
    assert drawn[0][0]["x"] == ["vectoradd", "nn", "mean", "published"]
    assert drawn[0][0]["y"] == [made.comparisons[0].rows[kernel][0] for kernel in ("vectoradd", "nn")] + [
        made.comparisons[0].mean[0],
        0.5,
    ]
    page = (tmp_path / "a" / "b" / "small.md").read_text()
    for part in (
        "# A paper of this test",
        "## Fig. 1: IPC",
        "their Fig. 1",
        "| kernel | ipc | twice |",
        by["command"],
    ):
        assert part in page


def test_command(small: Paper, tmp_path: Path) -> None:
    arguments = (
        "reproduce",
        "small",
        "--size",
        "tiny",
        "--kernel",
        "vectoradd",
        "--output",
        str(tmp_path / "out"),
    )
    done = warpbank(*arguments)
    assert done.code == 0, done.err
    for part in (
        "A paper of this test",
        "Fig. 1: IPC",
        "published",
        "They had other kernels.",
        "made by: warpbank reproduce",
    ):
        assert part in done.out
    stored = {path: path.stat().st_mtime_ns for path in store.folder().glob("*.json")}
    again = warpbank(*arguments, "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["papers"][0]["figures"][0]["rows"].keys() == {"vectoradd"}
    assert stored == {
        path: path.stat().st_mtime_ns for path in store.folder().glob("*.json")
    }  # nothing was computed again
    failed = warpbank("reproduce", "small", "--size", "tiny", "--kernel", "nbody", "--figure", "fig1")
    assert failed.code == 1
    assert "1 runs failed" in failed.err
    assert "nbody baseline" in failed.err


def test_output_that_cannot_be_made(small: Paper, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = warpbank(
        "reproduce", "small", "--size", "tiny", "--kernel", "nn", "--output", str(tmp_path / "file" / "out")
    )
    assert done.code == 2
    assert "cannot make the folder" in done.err


def test_published_values_name_figures_and_columns(small: Paper, tmp_path: Path) -> None:
    file = tmp_path / "package" / "published" / "small.toml"
    for text, message in (
        ('[fig7]\nsource = "x"\nvalues = {}\n', "no figure 'fig7'"),
        ('[fig1]\nsource = "x"\nvalues = { "ipd" = 1 }\n', "fig1 has no column 'ipd'"),
    ):
        file.write_text(text)
        published.cache_clear()
        with pytest.raises(WarpbankError, match=message):
            published(small)


def _drawn(
    shape: str,
    columns: tuple[str, ...],
    rows: dict[str, tuple[float, ...]],
    beside: tuple[str, ...] = (),
    level: tuple[str, float] | None = None,
) -> Any:
    """The plot of a figure whose first column is published as 7, and the most of it as 9."""
    figure = Figure(
        "fig", "Fig.", "%", columns, _tasks, lambda *_: (), "Why.", shape=shape, beside=beside, level=level
    )
    mean = tuple(sum(column) / len(rows) for column in zip(*rows.values(), strict=True))
    part = Comparison(figure, rows, mean, Published({columns[0]: 7.0}, {}, {columns[0]: 9.0}, "there"), {})
    (section,) = page(Reproduction(Paper("p", "P", (figure,)), (part,), {})).sections
    (plot,) = section.plots
    return plot


def test_shapes() -> None:
    rows = {"a": (1.0, 2.0), "b": (3.0, 4.0)}
    names = ["a", "b", "mean", "published", "published, most"]
    bars = _drawn("bars", ("x", "y"), rows)
    assert [(trace["type"], trace["name"], trace["x"]) for trace in bars.data] == [
        ("bar", "x", names),
        ("bar", "y", names),
    ]
    assert bars.data[0]["y"] == [1.0, 3.0, 2.0, 7.0, 9.0]
    assert bars.layout["barmode"] == "group"
    assert "shapes" not in bars.layout
    across = _drawn("bars", ("x", "y"), rows, level=("at rest", 5.0))
    assert [trace["x"] for trace in across.data] == [names, names]
    (line,) = across.layout["shapes"]
    assert (line["type"], line["y0"], line["y1"], line["x0"], line["x1"]) == ("line", 5.0, 5.0, 0, 1)
    assert [said["text"] for said in across.layout["annotations"]] == ["at rest"]
    parts = _drawn("parts", ("x", "y"), rows, beside=("x",))
    assert [trace["name"] for trace in parts.data] == ["y"]
    assert parts.layout["barmode"] == "stack"
    lines = _drawn("lines", ("x", "y"), rows)
    assert [(trace["type"], trace["name"]) for trace in lines.data] == [("scatter", name) for name in names]
    assert lines.data[2]["y"] == [2.0, 3.0]
    assert lines.data[3]["mode"] == "markers"
    curves = _drawn("curves", ("c, 1", "d, 1", "c, 2", "d, 2"), {"a": (1.0, 2.0, 3.0, 4.0)})
    assert [(trace["name"], trace["x"], trace["y"]) for trace in curves.data] == [
        ("c", ["1", "2"], [1.0, 3.0]),
        ("d", ["1", "2"], [2.0, 4.0]),
    ]


def test_sentences_on_extremes_and_on_what_is_not_here() -> None:
    columns = ("x", "y")
    figure = Figure("fig", "Fig.", "%", columns, _tasks, lambda *_: (), "Why.")
    stated = Published({"x": 7.0}, {"y": 1.0}, {"x": 9.0}, "there")
    part = Comparison(figure, {"a": (1.0, 2.0), "b": (3.0, 4.0)}, (2.0, 3.0), stated, {})
    assert part.sentences == [
        "x: ours 2.0 %, published 7 %, difference -5.0.",
        "x, most: ours 3.0 % (b), published 9 %, difference -6.0.",
        "y, least: ours 2.0 % (a), published 1 %, difference +1.0.",
        "Why.",
    ]
    assert Comparison(figure, {}, (), stated, {}).sentences == [
        "x: published 7 %, ours is not here.",
        "x, most: published 9 %, ours is not here.",
        "y, least: published 1 %, ours is not here.",
        "Why.",
    ]


def test_a_line_across_is_in_the_table() -> None:
    figure = Figure("fig", "Fig.", "%", ("x", "y"), _tasks, lambda *_: (), "Why.", level=("at rest", 5.0))
    part = Comparison(figure, {"a": (1.0, 2.0)}, (1.0, 2.0), Published({"x": 7.0}, {}, {}, "there"), {})
    assert table_rows(part) == [("a", (1.0, 2.0)), ("at rest", (5.0, 5.0)), ("published", (7.0, None))]


def test_means() -> None:
    assert MEANS["arithmetic"]([1.0, 2.0]) == 1.5
    assert MEANS["change"]([100.0, -50.0]) == pytest.approx(0.0)  # twice and half


def test_means_over_the_papers_own_kernels(small: Paper) -> None:
    """They stand beside the means over all, if they are others."""
    figure = Figure(
        "fig1", "Fig. 1", "%", ("ipc",), lambda *_: [], lambda kernel, *_: (float(len(kernel)),), "Why."
    )
    paper = replace(small, kernels=("aa", "bbbb", "cc"))
    part = papers.compare(paper, figure, ["a", "aa", "bbbb"], "tiny", {}, {})
    assert (part.own, part.own_mean) == (("aa", "bbbb"), (3.0,))
    assert part.mean == pytest.approx((7 / 3,))
    assert table_rows(part)[3:5] == [("mean", part.mean), (papers.OWN_MEAN, (3.0,))]
    assert part.sentences[1] == "ipc, the paper's own kernels: ours 3.0 %, published 0.5 %, difference +2.5."
    assert (part.to_dict()["own_kernels"], part.to_dict()["own_mean"]) == (["aa", "bbbb"], [3.0])
    for kernels in (["aa", "bbbb"], ["a"]):
        alone = papers.compare(paper, figure, kernels, "tiny", {}, {})
        assert (alone.own, alone.own_mean) == ((), ())


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_papers_are_whole(paper: Paper) -> None:
    """Published values fit the columns; runs use schemes that exist; every figure says why it differs."""
    assert published(paper)
    names = [figure.name for figure in paper.figures]
    assert len(set(names)) == len(names)
    for figure in paper.figures:
        assert figure.mean in MEANS
        assert figure.shape in SHAPES
        assert set(figure.beside) <= set(figure.columns)
        assert figure.reason.endswith(".")
        assert set(paper.kernels) <= set(workloads.names())
        for task in figure.tasks("vectoradd", "tiny"):
            task.check()
            if isinstance(task, RunSpec):
                assert task.scheme in SCHEMES


@pytest.mark.long
def test_bow_on_two_kernels() -> None:
    """Every figure has a row for every kernel, and rows hold what the counters say."""
    paper = PAPERS["bow"]
    made = reproduce(paper, ["vectoradd", "sad"], "tiny")
    assert made.failures == {}
    figures = {part.figure.name: part for part in made.comparisons}
    for part in figures.values():
        kernels = part.figure.kernels or ("vectoradd", "sad")
        assert set(part.rows) == (set(kernels) if part.figure.row else set())
        assert all(len(row) == len(part.figure.columns) for row in part.rows.values())
    runs = {
        scheme: exp.run(RunSpec("sad", "tiny", scheme, "pascal").experiment()).result
        for scheme in ("baseline", "bow", "bow-wr")
    }
    all_active = ("sub_core.active_warps=8", "sub_core.replacement=on_demand")
    columns = {
        name: dict(zip(part.figure.columns, part.rows["sad"], strict=True))
        for name, part in figures.items()
        if "sad" in part.rows
    }
    cached, plain = (
        exp.run(RunSpec("sad", "tiny", scheme, "pascal", (*more, *all_active)).experiment()).result
        for scheme, more in (
            ("rfc", ("sub_core.cache.registers=8",)),
            ("baseline", ("sub_core.front_end.scheduler=two_level",)),
        )
    )
    assert columns["rfc"]["RFC"] == pytest.approx(100 * cached.ipc / plain.ipc - 100)
    assert columns["rfc"]["over GTO"] == pytest.approx(100 * cached.ipc / runs["baseline"].ipc - 100)
    lost = columns["fig11"]["half over full"]
    assert 1 + columns["fig11"]["BOW-WR half"] / 100 == pytest.approx(
        (1 + columns["fig11"]["BOW-WR full"] / 100) * (1 + lost / 100)
    )
    assert columns["fig10"]["BOW IW 3"] == pytest.approx(100 * runs["bow"].ipc / runs["baseline"].ipc - 100)
    assert columns["fig11"]["BOW-WR full"] == pytest.approx(columns["fig10"]["BOW-WR IW 3"])
    accesses = {scheme: run.counters["rf.reads"] + run.counters["rf.writes"] for scheme, run in runs.items()}
    saved = columns["fig13"]["BOW-WR"] - columns["fig13"]["BOW-WR overhead"]
    assert saved == pytest.approx(100 * accesses["bow-wr"] / accesses["baseline"] - 100)
    assert saved < 0 < columns["fig13"]["BOW-WR overhead"]
    once = columns["fig8"].pop("3 and more, address once")
    assert sum(columns["fig8"].values()) == pytest.approx(100)
    assert 0 <= once <= columns["fig8"]["3 sources"] + columns["fig8"]["more"]
    assert 0 < columns["fig4"]["all"] < 100
    assert sum(figures["fig7"].rows["sad"][:3]) == pytest.approx(100)
    assert 0 <= columns["fig7"]["unkept registers"] < 100
    for window in (2, 3, 4):  # what the window gives need not be waited for
        assert columns["fig12-operands"][f"IW {window}"] < min(0, columns["fig12-residency"][f"IW {window}"])
    for name in ("fig3-reads", "fig3-writes", "fig3-writes-hints"):  # a larger window saves no less
        saved_by_window = figures[name].rows["sad"]
        assert list(saved_by_window) == sorted(saved_by_window)
        assert 0 < saved_by_window[-1] < 100


@pytest.mark.quick("pathfinder")
@pytest.mark.parametrize("kernel", ["sad", "lud", "pathfinder"])
def test_observed_stages_agree_with_counters(kernel: str) -> None:
    """Of lud and pathfinder several CTAs follow each other in the same warp slots."""
    for scheme in ("baseline", "bow-wr"):
        spec = RunSpec(kernel, "tiny", scheme, "pascal", observer="warpbank.studies.reproduce.observe:Stages")
        data = spec.compute()
        seen, counters = data["observed"], data["counters"]
        assert seen["memory"]["uops"] == counters["lsu.uops"] > 0
        assert seen["memory"]["uops"] + seen["other"]["uops"] == data["warp_instructions"]
        assert seen["memory"]["collect"] + seen["other"]["collect"] == counters["collector.residency"]
        for stages in (seen["memory"], seen["other"]):
            assert (
                0 < stages["operands"] <= stages["collect"] - stages["uops"] // 2
            )  # dispatched a cycle later at the earliest
        held = sum(int(entries) * cycles for entries, cycles in seen["occupancy"].items())
        assert (held > 0) == (scheme == "bow-wr")
        core = preset("pascal").sub_core
        assert sum(seen["occupancy"].values()) <= data["cycles"] * 4 * core.warps


def test_stages_by_hand() -> None:
    """Two warps one after the other in slot 1 of a machine with two banks, and values held for ten cycles in
    slot 0; in slot 1 from cycle 15 to the end of the first warp, whose last uop retires in 21.

    The second uop finds r2, which the first has asked for, and waits for r1; the third is inserted a cycle
    late.
    """
    records = [
        (0, 0, "warp_start", (1, 4)),
        (1, 0, "issue", (1, 0, 0)),
        (1, 0, "allocate", (1, 1, 0)),
        (2, 0, "grant", (1, 5, 1, 0)),
        (2, 0, "issue", (1, 1, 1)),
        (2, 0, "allocate", (1, 1, 1)),
        (2, 0, "forward", (1, 1, 1, 1, 1)),
        (3, 0, "grant", (0, 4, 1, 1)),
        (6, 0, "dispatch", (1, int(Unit.LSU), 1, 0)),
        (8, 0, "dispatch", (1, int(Unit.ALU), 1, 1)),
        (15, 0, "window", (1, 1)),
        (20, 0, "retire", (1, 0)),
        (21, 0, "retire", (1, 1)),
        (29, 0, "warp_start", (1, 4)),
        (30, 0, "issue", (1, 0, 1)),
        (30, 0, "allocate", (1, 1, 0)),
        (31, 0, "forward", (1, 1, 0, 3, 2)),
        (33, 0, "dispatch", (1, int(Unit.ALU), 1, 0)),
        (36, 0, "retire", (1, 0)),
        (40, 0, "issue", (1, 1, 2)),
        (40, 0, "retire", (1, 1)),
        (50, 0, "window", (0, 2)),
        (60, 0, "window", (0, 0)),
    ]
    trace = TraceBuilder().launch([[alu(9, 2), alu(9, 1, 2), BRANCH]]).build()
    stages = Stages()
    stages.start(trace, with_overrides(preset("tiny"), ["sub_core.banks=2"]))
    stages(Batch(0, 35, encode([record for record in records if record[0] < 35])))
    stages(Batch(35, 100, encode([record for record in records if record[0] >= 35])))
    assert stages.result() == {
        "memory": {"uops": 1, "operands": 2, "collect": 5, "total": 19},
        "other": {"uops": 3, "operands": 3, "collect": 9, "total": 25},
        "occupancy": {"0": 40 + 19, "1": 6, "2": 10},
    }


def test_table_1_is_measured_on_the_machine() -> None:
    """BOW, Fig. 6: bank writes of r0..r4. The result of r4 comes when its entry has left."""
    figures = {
        part.figure.name: part
        for part in reproduce(
            PAPERS["bow"], ["nn"], "tiny", figures=["table1-bow", "table1-bow-wb", "table1-bow-wr"]
        ).comparisons
    }
    rows = {name: part.rows["btree_snippet"][:5] for name, part in figures.items()}
    assert rows == {
        "table1-bow": (3, 4, 3, 1, 1),
        "table1-bow-wb": (1, 2, 2, 1, 1),
        "table1-bow-wr": (0, 1, 0, 1, 1),
    }


def test_kernels_separated_by_commas(small: Paper) -> None:
    done = warpbank(
        "reproduce", "small", "--size", "tiny", "--kernels", "vectoradd, nn", "--figure", "fig1", "--json"
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["papers"][0]["figures"][0]["rows"].keys() == {"vectoradd", "nn"}
