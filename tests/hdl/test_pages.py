"""docs/units: every unit has a page, whose port tables say what the docstrings say."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tests.port_tables import PAGES, entries, events, inherited, marked, ports, table, updated
from warpbank import hdl
from warpbank.arch.config import preset
from warpbank.arch.schemes import parse_scheme
from warpbank.synth.units import UNITS, make

UNIT_PAGES = [page for page in PAGES if page.parent.name == "units"]
INDEX = next(page for page in UNIT_PAGES if page.stem == "README")
#: Pages that are not about a unit.
OTHERS = {"README", "adding"}


def _components() -> set[type]:
    """The components of hdl whose own docstring lists their members."""
    found: set[type] = set()
    for module in pkgutil.walk_packages(hdl.__path__, "warpbank.hdl."):
        for unit in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(unit) and issubclass(unit, wiring.Component):
                found |= {unit} if "Members\n" in (unit.__dict__.get("__doc__") or "") else set()
    return {unit for unit in found if unit.__module__.startswith("warpbank.hdl.")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_port_tables_are_those_of_the_docstrings(page: Path) -> None:
    assert page.read_text() == updated(page), "run `python -m tests.port_tables`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_table_stands_alone(page: Path) -> None:
    """No row describes the rows behind it, or sends the reader to another class."""
    text = page.read_text()
    assert "all that follow up to" not in text
    assert "As in `warpbank." not in text


def test_every_component_stands_on_a_page() -> None:
    shown = {unit for page in PAGES for unit in marked(page)}
    components = _components()
    assert len(components) > 50
    bases = {unit for unit in components if inspect.isabstract(unit) or not hasattr(unit, "elaborate")}
    missing = {f"{unit.__module__}.{unit.__name__}" for unit in components - bases}
    missing -= {f"{unit.__module__}.{unit.__name__}" for unit in shown}
    assert not missing


@pytest.mark.parametrize("page", UNIT_PAGES, ids=lambda page: page.stem)
def test_a_unit_page_begins_with_its_sources(page: Path) -> None:
    """Title, source files, then a sentence; and the files are there."""
    if page.stem in OTHERS:
        return
    title, sources, text = page.read_text().split("\n\n")[:3]
    assert title.startswith("# ")
    assert sources.startswith(("Source: ", "Sources: ", "| source "))
    assert text[0].isalpha()
    assert text[0].isupper()
    files = re.findall(r"`((?:hdl|golden|program)/[\w/]+\.py)`", sources)
    assert files
    for file in files:
        assert (page.parent.parent.parent / file).is_file(), file
    assert marked(page)


@pytest.mark.parametrize("name", UNITS)
def test_every_port_stands_in_the_table(name: str) -> None:
    """Every member that a unit has on a small machine."""
    unit = make(name, preset("tiny"), parse_scheme("baseline"), probe=True)
    bases = [*type(unit).__mro__, *inherited(type(unit))]
    described = {given for base in bases for known in ports(base) for given in known.names}
    if events(type(unit)) is not None:
        described.add("events")
    if name == "sub_core":
        described |= {given for known in ports(type(unit.signature)) for given in known.names}
    assert set(unit.signature.members) <= described


def test_the_index_names_every_page() -> None:
    for page in UNIT_PAGES:
        if page.stem != "README":
            assert f"({page.name})" in INDEX.read_text(), page.name


class Regular:
    """A unit.

    Parameters
    ----------
    probe : generate `events` (grant,
        conflict).

    Members
    -------
    left, right : In(warps) per bank, if `wide`. Warps that
        may issue.
    order : Out(bits(len(x))).
    first : In(1). This one. second : Out(Delivery). That one.

    Latency: none.
    """


class Derived(Regular):
    """A unit made from another.

    Members
    -------
    those of `Regular`, and
    left : In(warps) per bank. As in `Regular`.
    """


def test_a_docstring_becomes_a_table() -> None:
    page = INDEX
    assert len(list(entries(Regular))) == 4
    assert table(Regular, page).splitlines()[2:] == [
        "| `left`, `right` | in | warps per bank, if `wide` | Warps that may issue. |",
        "| `order` | out | bits(len(x)) |  |",
        "| `first` | in | 1 | This one. |",
        "| `second` | out | Delivery | That one. |",
        "| `events` | out | `Events`, with `probe` | Reports grant, conflict. |",
    ]


def test_what_is_described_elsewhere_is_looked_up() -> None:
    rows = table(Derived, INDEX).splitlines()
    assert rows[0] == "Those of `Regular`, and"
    assert rows[4] == "| `left` | in | warps per bank | Warps that may issue. |"


class Coded(wiring.Component):
    """A unit.

    Members
    -------
    start, go : In. Of different widths.
    pick : Out, if `asked`. One of them.
    """

    def __init__(self, count: int) -> None:
        warp, wide = 3, 8 * count
        super().__init__({"start": In(count), "go": In(wide), "pick": Out(warp).array(2)})


def test_a_width_that_the_docstring_lacks_comes_from_the_code() -> None:
    assert [row.shape for row in ports(Coded)] == ["count, 8 x count", "3, if `asked`"]
