"""Every command and every piece of Python that README and docs show is run, or stands here with the reason
why not."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
import typer

from tests.cli.command import warpbank
from tests.registries import kept
from warpbank import workloads
from warpbank.arch.schemes import parse_scheme
from warpbank.cli.app import app
from warpbank.golden import interfaces as golden_interfaces
from warpbank.hdl import interfaces as hdl_interfaces
from warpbank.hdl import layouts, sub_core_ports
from warpbank.hdl.front_end import ports as front_end_ports
from warpbank.hdl.main import ports as main_ports
from warpbank.studies.examples import EXAMPLES as EXAMPLES_OF_PAPERS
from warpbank.studies.reproduce import PAPERS
from warpbank.synth.units import UNITS

ROOT = Path(__file__).parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
#: Commands that are shown outside of blocks of sh, by their first words: why they are not run as they stand,
#: and what runs them.
ELSEWHERE = {
    "warpbank compare": "README's, in a new environment: tests/studies/compare",
    "warpbank explore": "minutes, once: tests/studies/explore runs a small one",
    "warpbank fpga bfs --set sub_core.warps=2 --output board": "minutes of place and route: tests/synth/fpga",
    "warpbank reproduce": "up to an hour: tests/studies/test_reproduce.py runs some",
    "warpbank schemes --check --engine verilator": (
        "more than an hour: tests/studies/test_combinations.py runs some"
    ),
    "warpbank schemes --check --only rfc+malekeh": (
        "minutes in Amaranth's simulator: tests/sim/test_lockstep_combined.py runs some"
    ),
    "warpbank sweep big.toml --scheduler tcp://head:8786": (
        "not our machine: tests/sim/test_runs.py starts a scheduler"
    ),
    "warpbank synth": "a library that is not ours to ship, or a unit to fill in: tests/synth",
    "warpbank verify": "it runs other tests: tests/studies/test_verify.py",
}
#: Python that needs what a test machine has not.
SLURM = "dask_jobqueue"
#: Pages whose Python is lines of an example, which has tests of its own.
EXAMPLES = {"docs/tutorial.md": ROOT / "examples"}
#: Places to fill in, and something that can be there.
FILLED = {"UNIT": "lrr", "PRESET": "tiny", "SCHEME": "baseline", "CLOCK": "1", "EFFORT": "quick"}
#: Kernels that stand for all of them.
FEW = ("vectoradd", "bfs", "hotspot", "btree", "sad", "nn")


def _blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) of the fenced blocks."""
    return re.findall(r"^```(\w*)\n(.*?)^```", PAGES[page].read_text(), re.DOTALL | re.MULTILINE)


def _run(page: str) -> Iterator[tuple[str, str]]:
    """(language, text) of the commands and the Python of a page that are run, in order."""
    for language, block in _blocks(page):
        if language == "sh":
            yield from ((language, line.strip()) for line in block.splitlines())
        elif language == "python" and SLURM not in block:
            yield language, block


def test_there_are_commands() -> None:
    shown = [language for page in PAGES for language, _ in _run(page)]
    assert shown.count("sh") > 60
    assert shown.count("python") > 10


@pytest.mark.quick("README.md", "docs/re*", "docs/s*", "docs/[cbdghijkno]*")
@pytest.mark.parametrize("page", [page for page in PAGES if list(_run(page))])
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one folder: what comes later may use what was written before. Caches aside, nothing is
    written into the user's home."""
    (work := tmp_path / "work").mkdir()
    (home := tmp_path / "home").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    (work / "examples").symlink_to(ROOT / "examples")
    with kept():
        for language, text in _run(page):
            if language == "python":
                _python(page, text)
            else:
                words = shlex.split(text, comments=True)
                assert words[0] == "warpbank", f"what stands in a block of sh is run: {text}"
                done = warpbank(*words[1:])
                assert done.code == 0, f"{text}\n{done.err}"
    assert {path.name for path in home.iterdir()} <= {".cache"}


def _python(page: str, text: str) -> None:
    """Run a block; of all kernels it has a few."""
    if page in EXAMPLES:
        sources = "".join(path.read_text() for path in EXAMPLES[page].glob("*/*.py"))
        shown, there = (re.sub(r"#.*|\s|,(?=\s*\))", "", code) for code in (text, sources))
        assert re.search(re.escape(shown).replace(re.escape('"..."'), '"[^"]*"'), there), (
            f"not in {EXAMPLES[page]}: {text}"
        )
        return
    few = tuple(name for name in workloads.names() if name in FEW)
    with mock.patch.object(workloads, "names", return_value=few):
        exec(compile(text, page, "exec"), {"__name__": "__main__"})


def _shown(page: str) -> Iterator[str]:
    """Whole commands that a page shows outside of blocks of sh."""
    text = PAGES[page].read_text()
    for language, block in _blocks(page):
        if language != "sh":
            yield from re.findall(r"^(?:.*&& )?(?:\$ )?(?:\.venv/bin/)?(warpbank .*)$", block, re.MULTILINE)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"^    (warpbank .*?)(?:    .*)?$", prose, re.MULTILINE)


def _quoted(page: str) -> Iterator[str]:
    """Commands with arguments in the text of a page that have no place to fill in."""
    prose = re.sub(r"^```.*?^```", "", PAGES[page].read_text(), flags=re.DOTALL | re.MULTILINE)
    for command in re.findall(r"`(warpbank [^`\s]+ [^`]+)`", prose):
        if not re.search(r"\.\.\.|[|\[]|\b[A-Z]{3,}\b", command):
            yield " ".join(command.split())


def test_what_is_shown_and_not_run_has_a_reason() -> None:
    found = {command for page in PAGES for command in _shown(page)}
    for command in found:
        assert any(command.startswith(known) for known in ELSEWHERE), command
    assert all(any(command.startswith(known) for command in found) for known in ELSEWHERE)


@pytest.mark.parametrize("page", [page for page in PAGES if list(_shown(page)) or list(_quoted(page))])
def test_what_is_shown_and_not_run_is_understood(page: str) -> None:
    """The options are there and take such values, and so are the kernels, schemes, figures and units."""
    for command in [*_shown(page), *_quoted(page)]:
        words = [FILLED.get(word, word) for word in shlex.split(command, comments=True)[1:]]
        _parse(words)
        pairs = list(pairwise(words))
        kernels = (*workloads.GROUPS, workloads.ALL, *workloads.names(workloads.ALL))
        known = {"--kernel": kernels, "--kernels": kernels, "--figure": _figures(words), "synth": UNITS}
        for option, values in known.items():
            given = {name for word, value in pairs if word == option for name in value.split(",")}
            assert all(name in values or name.startswith("-") for name in given), command
        for scheme in [value for word, value in pairs if word in ("--scheme", "--only")]:
            parse_scheme(scheme)


def _figures(words: Sequence[str]) -> set[str]:
    return {figure.name for name, paper in PAPERS.items() for figure in paper.figures if name in words}


def _parse(words: Sequence[str]) -> None:
    """The command line takes these words; nothing is run."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("warpbank", list(words))
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)


def test_links_lead_somewhere() -> None:
    for name, page in PAGES.items():
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            made = re.fullmatch(r"machines/(\w+)\.html", target)  # made with the site
            assert (page.parent / target).exists() or (made and made.group(1) in EXAMPLES_OF_PAPERS), (
                f"{name} links to {target}"
            )


#: Documents that are not in the repository, and numbers for what has a name in docs/architecture.md.
REMEDY = "cite docs/architecture.md, and interfaces by their names"
CITED = re.compile(r"\bDESIGN\b|\b[Ss]eams? \d|\bseams?\b")


@pytest.mark.parametrize("page", PAGES)
def test_no_document_is_cited_that_is_not_in_the_repository(page: str) -> None:
    assert not CITED.search(PAGES[page].read_text()), REMEDY


def test_no_source_cites_a_document_that_is_not_in_the_repository() -> None:
    own = Path(__file__).resolve()
    sources = [
        path for path in ROOT.rglob("*.py") if not {".venv", "build"} & set(path.parts) and path != own
    ]
    assert len(sources) > 500
    citing = [str(path.relative_to(ROOT)) for path in sources if CITED.search(path.read_text())]
    assert not citing, REMEDY


def test_what_counts_as_a_citation() -> None:
    for text in (
        "(DESIGN, section 4)",
        "Seams 2 to 5 of the design",
        "offered (seam 4)",
        "what crosses the seams",
    ):
        assert CITED.search(text), text
    assert not CITED.search("a design that seems sound")


def _declared(module: ModuleType) -> dict[str, Any]:
    """Public classes and functions that a module itself defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    }


def test_the_architecture_page_names_every_interface() -> None:
    """Every method and attribute of golden's protocols, every layout, stream and signature of the RTL."""
    page = PAGES["docs/architecture.md"].read_text()
    words = {word for code in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"\w+", code)}
    protocols = _declared(golden_interfaces)
    assert {"Mapping", "Storage", "Hierarchy", "Units", "Collector"} <= set(protocols)
    for name, protocol in protocols.items():
        assert inspect.isclass(protocol)
        members = {*vars(protocol), *inspect.get_annotations(protocol)}
        missing = {member for member in members if not member.startswith("_")} - words
        assert not missing, f"{name} of golden/interfaces.py: {missing}"
    assert not set(protocols) - words
    signatures = {
        name
        for module in (hdl_interfaces, layouts, front_end_ports, main_ports, sub_core_ports)
        for name in _declared(module)
        if not name.endswith("Interface")
    }  # those are types
    assert not signatures - words


#: Files that pages name as examples of what a user would write.
IMAGINED = {"workloads/saxpy.py", "test_UNIT.py", "test_first.py"}


@cache
def _modules() -> frozenset[str]:
    """Names of the repository's Python files."""
    return frozenset(path.name for path in ROOT.rglob("*.py") if ".venv" not in path.parts)


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_are_there(page: str) -> None:
    for file in re.findall(r"`([\w./]+\.py)\b", PAGES[page].read_text()):
        found = (ROOT / file).is_file() if "/" in file else file in _modules()
        assert found or file in IMAGINED, f"{page} names {file}"
