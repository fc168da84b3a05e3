"""The reach of tests: every way to another file is followed, and real tests load nothing beyond it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reach import Reach

ROOT = Path(__file__).parents[1]
#: A small repository.
FILES = {
    "pyproject.toml": "",
    "README.md": "",
    "docs/units/boc.md": "",
    "hdl/__init__.py": "",
    "hdl/boc.py": "from warpbank.hdl import arbiter",
    "hdl/arbiter.py": "",
    "hdl/table.py": 'ROWS = {"boc": "warpbank.hdl.boc:Boc"}',
    "hdl/alone.py": "",
    "synth/__init__.py": "",
    "synth/prices.py": 'FOLDER = "baselines"',
    "synth/baselines/boc.json": "",
    "warpbank/__init__.py": "",
    "warpbank/api.py": "import warpbank.hdl.table",
    "workloads/__init__.py": "import pkgutil\nFOUND = pkgutil.iter_modules(__path__)",
    "workloads/saxpy.py": "",
    "tests/conftest.py": "from tests import settings",
    "tests/settings.py": "import tests.deep",
    "tests/deep.py": "",
    "tests/hdl/conftest.py": "",
    "tests/hdl/bench.py": "def run():\n    from warpbank.hdl.boc import Boc",
    "tests/hdl/test_boc.py": "from tests.hdl.bench import run",
    "tests/hdl/__init__.py": "",
    "tests/hdl/test_ocu.py": "",
    "tests/hdl/test_table.py": "from warpbank.hdl import table",
    "tests/synth/test_prices.py": "from warpbank.synth.prices import FOLDER",
    "tests/synth/expected.json": "",
    "tests/synth/test_expected.py": 'NAME = "expected.json"',
    "tests/test_api.py": "from warpbank import simulate",
    "tests/test_workloads.py": "import warpbank.workloads",
    "tests/test_program.py": 'import subprocess\nsubprocess.run(["python", "-m", "warpbank"])',
    "tests/test_code.py": 'import subprocess\nsubprocess.run(["python", "-c", "import warpbank.api"])',
    "tests/test_tool.py": 'import subprocess\nsubprocess.run(["yosys", "-p", "stat"])',
    "tests/test_docs.py": 'for file in ROOT.rglob("docs/*.md"): pass',
    "tests/listing/beside.py": "",
    "tests/listing/helper.py": "for file in HERE.iterdir(): pass",
    "tests/test_helped.py": "import tests.listing.helper",
}


@pytest.fixture(scope="module")
def reach(tmp_path_factory: pytest.TempPathFactory) -> Reach:
    """The reach of FILES."""
    root = tmp_path_factory.mktemp("repository")
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Reach(root, list(FILES))


@pytest.mark.parametrize(
    ("test", "reached", "not_reached"),
    [
        (
            "tests/hdl/test_boc.py",
            "hdl/boc.py hdl/arbiter.py hdl/__init__.py",
            "hdl/table.py synth/prices.py",
        ),
        (
            "tests/hdl/test_boc.py",
            "tests/hdl/conftest.py tests/settings.py tests/hdl/bench.py",
            "tests/deep.py",
        ),
        ("tests/hdl/test_boc.py", "pyproject.toml", "README.md docs/units/boc.md synth/baselines/boc.json"),
        ("tests/hdl/test_table.py", "hdl/table.py hdl/boc.py hdl/__init__.py", "hdl/alone.py"),
        ("tests/hdl/test_ocu.py", "tests/hdl/__init__.py", "tests/hdl/test_boc.py"),
        ("tests/synth/test_prices.py", "synth/baselines/boc.json", "tests/synth/expected.json hdl/boc.py"),
        ("tests/synth/test_expected.py", "tests/synth/expected.json", "synth/baselines/boc.json"),
        ("tests/test_api.py", "hdl/alone.py warpbank/__init__.py workloads/saxpy.py", "tests/deep.py"),
        ("tests/test_workloads.py", "workloads/saxpy.py", "hdl/boc.py"),
        ("tests/test_program.py", "hdl/alone.py synth/baselines/boc.json", "docs/units/boc.md README.md"),
        ("tests/test_code.py", "hdl/alone.py", "docs/units/boc.md"),
        ("tests/test_tool.py", "tests/test_tool.py", "hdl/alone.py synth/baselines/boc.json"),
        ("tests/test_docs.py", "docs/units/boc.md hdl/alone.py", "README.md"),
        ("tests/test_helped.py", "tests/listing/beside.py", "hdl/boc.py tests/test_tool.py"),
    ],
)
def test_every_way_is_followed_and_no_other(reach: Reach, test: str, reached: str, not_reached: str) -> None:
    for file in reached.split():
        assert reach.touched(test, frozenset({"hdl/nowhere.py", file})), file
    for file in not_reached.split():
        assert not reach.touched(test, frozenset({file})), file


@pytest.mark.parametrize(
    "test",
    [
        "tests/golden/collector/test_boc.py",
        "tests/sim/test_lockstep_eviction.py",
        "tests/formal/test_scoreboard.py",
    ],
)
def test_what_a_real_test_loads_is_within_its_reach(test: str) -> None:
    """The first test of a file runs: all modules that it and its settings load are reached."""
    code = f"""
import json, sys, pytest
class Here:
    def pytest_sessionstart(self, session):
        self.before = set(sys.modules)
    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session):
        session.items[1:] = []
        return (yield)
here = Here()
code = pytest.main([{test!r}, "-n", "0", "-q", "-p", "no:cacheprovider"], plugins=[here])
files = [getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - here.before]
print("\\n" + json.dumps([int(code), [file for file in files if file]]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=False)
    passed, loaded = json.loads(done.stdout.splitlines()[-1])
    assert passed == 0, done.stdout + done.stderr
    ours = {Path(each).relative_to(ROOT).as_posix() for each in loaded if Path(each).is_relative_to(ROOT)}
    ours = {each for each in ours if not each.startswith((".venv/", "build/"))}
    assert len(ours) > 10
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True)
    reach = Reach(ROOT, listed.stdout.splitlines())
    either = (test, "tests/conftest.py")
    assert not [each for each in ours if not any(reach.touched(file, frozenset({each})) for file in either)]
