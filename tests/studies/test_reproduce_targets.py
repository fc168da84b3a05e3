"""Every published number that we set out to have ours beside: on its page, with the value and a sentence on
the difference.

The table stands here a second time, number by number as read from the papers, so that a row that is lost or
changed in `warpbank/studies/reproduce/published` is seen.
"""

from __future__ import annotations

import pytest

from warpbank.arch.register_files import TABLE2
from warpbank.studies.reproduce import PAPERS
from warpbank.studies.reproduce.page import page
from warpbank.studies.reproduce.paper import NOTHING, Comparison, compare, published
from warpbank.studies.reproduce.run import Reproduction
from warpbank.studies.reproduce.write import markdown
from warpbank.synth.energy import table

#: Paper, figure, column, and the number; "least" or "most" behind it, if it is not a mean or a single value.
TARGETS: tuple[tuple[str, str, str, float, str], ...] = (
    ("bow", "fig3-reads", "IW 2", 45, ""),
    ("bow", "fig3-writes", "IW 2", 35, ""),
    ("bow", "fig3-reads", "IW 3", 59, ""),
    ("bow", "fig3-writes", "IW 3", 52, ""),
    ("bow", "fig3-reads", "IW 7", 70, ""),
    ("bow", "fig4", "all", 25, ""),
    ("bow", "fig4", "all", 47, "most"),
    ("bow", "fig7", "banks only", 21, ""),
    ("bow", "fig7", "collector only", 52, ""),
    ("bow", "fig7", "both", 27, ""),
    ("bow", "fig8", "3 sources", 2, ""),
    ("bow", "fig9", "more than half", 3, ""),
    ("bow", "fig10", "BOW IW 3", 11, ""),
    ("bow", "fig10", "BOW-WR IW 3", 13, ""),
    ("bow", "fig11", "BOW-WR half", 11, ""),
    ("bow", "fig11", "half over full", -2, ""),
    ("bow", "fig12-residency", "IW 3", -60, ""),
    ("bow", "fig12-operands", "IW 3", -60, ""),
    ("bow", "fig13", "BOW", -36, ""),
    ("bow", "fig13", "BOW overhead", 3, ""),
    ("bow", "fig13", "BOW-WR", -55, ""),
    ("bow", "fig13", "BOW-WR overhead", 1.8, ""),
    ("bow", "rfc", "RFC", 2, ""),
    ("bow", "storage", "12 entries", 36, ""),
    ("bow", "storage", "6 entries", 12, ""),
    ("bow", "storage-shares", "6 entries", 4, ""),
    ("bow", "table4-boc", "pJ", 2.72, ""),
    ("bow", "table4-access", "bank", 185.26, ""),
    ("bow", "table4-boc", "mW", 1.11, ""),
    ("bow", "table4-leakage", "bank", 111.84, ""),
    ("bow", "network", "mm2", 0.04, ""),
    ("bow", "network", "GHz", 1, ""),
    ("bow", "network", "mW", 33.2, ""),
    *(
        ("bow", f"table1-{scheme}", f"r{register}", count, "")
        for scheme, counts in (("bow", (3, 4, 2, 1)), ("bow-wb", (1, 2, 1, 1)), ("bow-wr", (0, 1, 0, 1)))
        for register, count in enumerate(counts)
    ),
    ("malekeh", "fig1", "over 3", 36, ""),
    ("malekeh", "fig1-tensor", "over 3", 50.2, ""),
    ("malekeh", "fig1-tensor", "over 10", 40, ""),
    ("malekeh", "fig2", "RFC, sub-cores", -9.9, ""),
    ("malekeh", "fig2", "SW-RFC, sub-cores", -12.9, ""),
    ("malekeh", "fig2", "RFC, monolithic", -2.1, ""),
    ("malekeh", "fig2", "SW-RFC, monolithic", -3.5, ""),
    ("malekeh", "fig10", "RFC, ready but pending", 37.6, ""),
    ("malekeh", "fig10", "SW-RFC, ready but pending", 43.8, ""),
    ("malekeh", "fig13", "Malekeh", 46.4, ""),
    ("malekeh", "reads", "Malekeh", 46.4, ""),
    ("malekeh", "fig12", "Malekeh", 6.1, ""),
    ("malekeh", "fig12", "Malekeh", 28.4, "most"),
    ("malekeh", "fig12", "Malekeh", -0.8, "least"),
    ("malekeh", "fig15", "Malekeh", -28.3, ""),
    ("malekeh", "fig15", "Malekeh", -47.3, "least"),
    ("malekeh", "fig17", "GTO and LRU", 7.9, ""),
    ("malekeh", "fig12-pairs", "Malekeh_PR over BOW", 3.3, ""),
    ("malekeh", "fig13-pairs", "Malekeh_PR over BOW", 28.9, ""),
    ("malekeh", "storage-shares", "Malekeh_PR of BOW", 33, ""),
    ("malekeh", "fig12-pairs", "BOW over Malekeh", 2.43, ""),
    ("malekeh", "fig15", "BOW over Malekeh", 92.1, ""),
    ("malekeh", "storage", "added by Malekeh", 2, ""),
    ("malekeh", "storage-shares", "added to the file", 0.78, ""),
    ("ltrf", "fig4", "hardware", 8, "least"),
    ("ltrf", "fig4", "hardware", 30, "most"),
    ("ltrf", "fig4", "software", 8, "least"),
    ("ltrf", "fig4", "software", 30, "most"),
    ("ltrf", "fig3", "ideal", 37, ""),
    ("ltrf", "fig3", "ideal", 10, "least"),
    ("ltrf", "fig3", "ideal", 95, "most"),
    ("ltrf", "fig9", "LTRF #6", 32, ""),
    ("ltrf", "fig9", "LTRF #7", 28, ""),
    ("ltrf", "fig9", "LTRF+ #7", 31, ""),
    ("ltrf", "fig9-ideal", "LTRF+ #7", -5, ""),
    ("ltrf", "fig10", "RFC", -35.1, ""),
    ("ltrf", "fig10", "LTRF", -35.4, ""),
    ("ltrf", "fig10", "LTRF+", -46.1, ""),
    *(
        ("ltrf", f"fig11{loss}", scheme, times, "")
        for loss, row in (
            ("", {"RFC": 2.1, "LTRF": 5.3, "LTRF+": 6.2, "SHRF": 2, "LTRF (strand)": 3}),
            ("-1", {"RFC": 1.4, "LTRF": 2.8, "LTRF+": 3.5}),
            ("-10", {"RFC": 2.9, "LTRF": 6.5, "LTRF+": 7.9}),
        )
        for scheme, times in row.items()
    ),
    ("ltrf", "fig13-gain", "LTRF", 36.9, ""),
    *(
        ("ltrf", "table4", column, count, "")
        for column, count in (
            ("average", 31.2),
            ("minimum", 7),
            ("maximum", 45),
            ("optimal average", 34.7),
            ("optimal minimum", 9),
            ("optimal maximum", 53),
        )
    ),
    ("ltrf", "table4-share", "average", 89, ""),
    ("ltrf", "table4-share", "minimum", 78, ""),
    ("ltrf", "table4-share", "maximum", 85, ""),
    ("ltrf", "accesses", "LTRF", 4, "least"),
    ("ltrf", "accesses", "LTRF", 6, "most"),
    ("ltrf", "code", "bit-vectors", 7, ""),
    ("ltrf", "code", "with instructions", 9, ""),
    ("ltrf", "wcb", "all", 114880, ""),
    ("ltrf", "wcb-share", "all", 5, ""),
    *(
        ("ltrf", f"table2-{kind}", f"#{place + 1}", value, "")
        for kind, values in (
            ("latency", (1, 1.25, 1.5, 1.6, 2.8, 5.3, 6.3)),
            ("power", (1, 8, 8, 3.2, 3.2, 1.05, 0.65)),
        )
        for place, value in enumerate(values)
    ),
    ("gscalar", "fig1", "divergent", 28, ""),
    ("gscalar", "fig1", "scalar of divergent", 45, ""),
    *(
        ("gscalar", "fig8", column, share, "")
        for column, share in (("scalar", 36), ("3 bytes", 17), ("2 bytes", 4), ("1 byte", 7))
    ),
    *(
        ("gscalar", "fig9", column, share, "")
        for column, share in (
            ("ALU", 22),
            ("SFU and memory", 7),
            ("half-warp", 2),
            ("divergent", 9),
            ("all", 40),
        )
    ),
    ("gscalar", "fig12", "gscalar", 100 - 54, ""),
    ("gscalar", "fig12", "scalar-rf", 100 - 37, ""),
    ("gscalar", "compression", "byte-wise", 2.17, ""),
    ("gscalar", "compression", "BDI", 2.13, ""),
    ("gscalar", "fig11", "gscalar-half", 24, ""),
    ("gscalar", "fig11", "gscalar-half over scalar-rf", 15, ""),
    ("gscalar", "fig11-ipc", "gscalar-half", -1.7, ""),
    ("gscalar", "moves", "moves", 2, ""),
    ("gscalar", "table3-area", "compressor", 11624, ""),
    ("gscalar", "table3-area", "decompressor", 7332, ""),
    ("gscalar", "table3-delay", "compressor", 0.67, ""),
    ("gscalar", "table3-delay", "decompressor", 0.35, ""),
    ("gscalar", "table3-power", "compressor", 16.22, ""),
    ("gscalar", "table3-power", "decompressor", 15.86, ""),
    ("gscalar", "bdi-area", "area", 52, ""),
    ("gscalar", "base-access", "access", 5.2, ""),
    ("gscalar", "base-area", "gscalar", 3, ""),
    ("gscalar", "base-area", "gscalar-half", 7, ""),
    ("renaming", "fig9-saving", "saving", 30, ""),
    ("renaming", "fig10", "sub-array", 23, ""),
    ("renaming", "fig10", "register", 26, ""),
    ("renaming", "fig10-table", "table", 0.02, ""),
    ("renaming", "table-static", "table", 1.2, ""),
    ("renaming", "table-size", "table", 3780, ""),
    ("renaming", "fig11", "constrained", 1024, "most"),
    ("renaming", "fig12", "code, empty pir kept", 11, ""),
    ("renaming", "fig12-decoded", "decoded", 2, ""),
    ("renaming", "fig12-time", "time", 1, ""),
    ("renaming", "fig12-time", "time", 8, "most"),
    ("renaming", "fig13", "spread", 3, ""),
    ("renaming", "table2-access", "table", 1.14, ""),
    ("renaming", "table2-access", "bank", 4.68, ""),
    ("renaming", "table2-leakage", "table", 0.27, ""),
    ("renaming", "table2-leakage", "bank", 2.8, ""),
    ("renaming", "table2-lookup", "table", 0.22, ""),
    ("renaming", "flag-cache", "cache", 324, ""),
)


def _parts(name: str) -> dict[str, Comparison]:
    """A paper's figures by name, those without a task with their rows, the others as if every column were 1
    for a kernel."""
    paper = PAPERS[name]
    parts = {}
    for figure in paper.figures:
        if figure.tasks("nn", "tiny"):
            ones = (1.0,) * len(figure.columns)
            parts[figure.name] = Comparison(
                figure, {"nn": ones}, ones, published(paper).get(figure.name, NOTHING), {}
            )
        else:
            parts[figure.name] = compare(paper, figure, ["nn"], "tiny", {}, {})
    return parts


@pytest.mark.parametrize("name", PAPERS)
def test_every_published_number_has_a_row_and_a_sentence(name: str) -> None:
    paper, parts = PAPERS[name], _parts(name)
    targets = [target[1:] for target in TARGETS if target[0] == name]
    made = Reproduction(paper, tuple(parts.values()), {"command": "none"})
    shown = {section.title: section for section in page(made).sections}
    text = markdown(made)
    for figure, column, value, end in targets:
        part = parts[figure]
        stated = {"": part.published.values, "least": part.published.least, "most": part.published.most}[end]
        assert stated[column] == value, (figure, column)
        (sentence,) = [
            each for each in part.sentences if each.startswith(f"{column}, {end}:" if end else f"{column}:")
        ]
        assert f"published {value:g}" in sentence
        assert ("ours is not here" in sentence) == (part.figure.row is None)
        assert sentence in text
        section = shown[part.figure.title]
        assert sentence in section.text
        assert part.figure.reason in section.text
        (drawn,) = section.tables
        place = drawn.columns.index(column) - 1
        rows = dict(drawn.rows)
        assert rows["published" + f", {end}" * bool(end)][place] == value


def test_the_table_is_no_shorter_than_what_is_published() -> None:
    """Whatever the data files hold beyond the table is known here: it was added on purpose."""
    listed = {target[:3] + target[4:] for target in TARGETS}
    found = {
        (name, figure, column, end)
        for name, paper in PAPERS.items()
        for figure, entry in published(paper).items()
        for end, values in (("", entry.values), ("least", entry.least), ("most", entry.most))
        for column in values
    }
    assert listed <= found
    beyond = {("bow", f"table1-{scheme}", "r0 to r3", "") for scheme in ("bow", "bow-wb", "bow-wr")} | {
        ("renaming", "fig11-saving", "lost", "most"),
        ("renaming", "fig2-curves", "2000", "most"),
        ("renaming", "fig11-exempt", "registers", "most"),
        ("renaming", "fig11-exempt", "exempt", "most"),
        ("bow", "storage-shares", "12 entries", ""),
        ("malekeh", "storage-shares", "Malekeh of BOW", ""),
        ("malekeh", "fig13-pairs", "BOW over Malekeh", ""),
        ("malekeh", "fig13-pairs", "BOW over Malekeh", "most"),
        ("malekeh", "fig13-pairs", "Malekeh_PR over BOW", "most"),
        ("malekeh", "fig17", "GTO and LRU", "most"),
        ("malekeh", "fig12-pairs", "BOW over Malekeh", "most"),
        ("malekeh", "fig12-pairs", "Malekeh_PR over BOW", "most"),
        ("malekeh", "fig12-pairs", "Malekeh_PR over BOW", "least"),
        *(("ltrf", "fig9-average", column, "") for column in ("LTRF #6", "LTRF #7", "LTRF+ #7")),
        *(
            ("ltrf", f"fig11{loss}-own", scheme, "")
            for loss in ("", "-1", "-10")
            for scheme in ("RFC", "LTRF", "LTRF+")
        ),
        *(("ltrf", "fig11-own", scheme, "") for scheme in ("SHRF", "LTRF (strand)")),
        ("ltrf", "fig9-ideal-average", "LTRF+ #7", ""),
        *(("ltrf", "fig10-average", column, "") for column in ("RFC", "LTRF", "LTRF+")),
        ("ltrf", "wcb", "addresses", ""),
        ("ltrf", "wcb", "vectors", ""),
        ("gscalar", "fig10", "warp of 32", ""),
        ("gscalar", "fig10", "warp of 64", ""),
    }
    assert found - listed == beyond


def test_inputs_are_the_papers() -> None:
    """Published values that are inputs of ours are in the energy tables as printed."""
    inputs = {
        name: [(row.structure, row.picojoules) for row in table(name).events] for name in ("bow", "renaming")
    }
    assert {("collectors", 2.72), ("banks", 185.26)} <= set(inputs["bow"])
    assert {("tables", 1.14), ("banks", 8 * 4.68)} <= set(inputs["renaming"])
    leaking = {
        name: {(row.structure, row.milliwatts, row.amount) for row in table(name).leakage}
        for name in ("bow", "renaming")
    }
    assert {("collectors", 1.11, 1.5), ("banks", 111.84, 64.0)} <= leaking["bow"]
    assert {("tables", 4 * 0.27, 1.0), ("banks", 2.8, 4.0)} <= leaking["renaming"]
    entries = published(PAPERS["ltrf"])
    for figure, values in (
        ("table2-latency", [each.latency / 100 for each in TABLE2.values()]),
        ("table2-power", [each.power for each in TABLE2.values()]),
    ):
        assert list(entries[figure].values.values()) == values


def test_counted_by_hand() -> None:
    """Storage from section texts, computed in another way than the code does."""
    rows = {name: {figure: part.mean for figure, part in _parts(name).items()} for name in PAPERS}
    assert rows["bow"]["storage"][:2] == (32 * 9 * 128 / 1024, 32 * 3 * 128 / 1024)
    assert rows["malekeh"]["storage"][-1] == 4 * 2 * 2 * 128 / 1024
    assert rows["ltrf"]["wcb"] == (8 * 256 * 5, 72 * 512, 8 * 256 * 5 + 72 * 512)
    assert rows["renaming"]["table-size"] == (48 * 63 * 10 / 8,)
    assert rows["renaming"]["flag-cache"] == (324,)
    assert rows["renaming"]["fig10-retention"] == pytest.approx((400 / 11, 35, 100 / 3, 31.25))
    assert rows["ltrf"]["table4-share"] == (1, 1, 1)
    # Macros of 64 x 15 and 64 x 32 bits take 0.394 and 0.796 pJ, 0.0589 and 0.0816 mW
    # (`synth/memories.toml`).
    assert rows["bow"]["table4-access"] == pytest.approx((32 * 0.796,))
    assert rows["bow"]["table4-leakage"] == pytest.approx((32 * 0.0816,))
    assert rows["renaming"]["table2-access"] == pytest.approx((0.394, 4 * 0.796))
    assert rows["renaming"]["table-static"] == pytest.approx(
        (100 * 4 * (4 * 0.0589) / (32 * 4 * 4 * 0.0816),)
    )
    assert rows["gscalar"]["base-area"] == pytest.approx(
        (100 * (32 + 4 + 2) / 1024, 100 * 2 * (32 + 4 + 1) / 1024)
    )
