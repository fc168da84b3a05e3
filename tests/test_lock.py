"""The lock file fits pyproject.toml: every requirement is pinned to a version that it allows, with hashes,
and nothing says where packages are to come from."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
#: Extras that the lock file covers, with those that they name.
EXTRAS = ("test", "fpga")


def _pins() -> dict[str, list[tuple[Requirement, int]]]:
    """Pinned requirements by name, each with the number of its hashes."""
    found: dict[str, list[tuple[Requirement, int]]] = {}
    for part in re.split(r"\n(?=[a-z])", LOCK.read_text()):
        if part.startswith("#"):
            continue
        line = part.split("\\\n")[0].strip()
        pinned = Requirement(line)
        found.setdefault(canonicalize_name(pinned.name), []).append((pinned, part.count("--hash=sha256:")))
    return found


def _wanted() -> Iterator[Requirement]:
    """What pyproject.toml asks for: to build, to run, and of the extras."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    yield from map(Requirement, content["build-system"]["requires"])
    yield from map(Requirement, content["project"]["dependencies"])
    todo, done = list(EXTRAS), set()
    while todo:
        extra = todo.pop()
        if extra in done:
            continue
        done.add(extra)
        for requirement in map(Requirement, content["project"]["optional-dependencies"][extra]):
            if requirement.name == "warpbank":
                todo += requirement.extras
            else:
                yield requirement


def _fits(requirement: Requirement, pins: dict[str, list[tuple[Requirement, int]]]) -> bool:
    """Whether the pins of a package, one of them or one for each platform, are versions that are allowed."""
    found = pins.get(canonicalize_name(requirement.name), [])
    versions = [next(iter(pinned.specifier)).version for pinned, _ in found]
    return bool(versions) and all(requirement.specifier.contains(version) for version in versions)


def test_every_requirement_is_pinned() -> None:
    pins = _pins()
    wanted = list(_wanted())
    assert len(wanted) > 30
    assert [str(each) for each in wanted if not _fits(each, pins)] == [], "run .ci/lock"


def test_every_pin_has_hashes() -> None:
    for name, found in _pins().items():
        for pinned, hashes in found:
            assert [clause.operator for clause in pinned.specifier] == ["=="], name
            assert hashes, name


def test_no_host_is_named() -> None:
    text = LOCK.read_text()
    assert not re.search(r"https?:|file:|--index|--find-links|--trusted-host", text)


@pytest.mark.parametrize("requirement", ["numpy>=3", "no-such-package", "setuptools<1"])
def test_what_does_not_fit_is_seen(requirement: str) -> None:
    assert not _fits(Requirement(requirement), _pins())
