"""Files for contributors: workflows, issue forms, hooks and container run what the repository has."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def _steps(path: Path) -> list[str]:
    """Commands of a workflow."""
    jobs: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def test_workflows_run_what_is_there() -> None:
    commands = [command for path in WORKFLOWS for command in _steps(path)]
    assert ".ci/run" in commands
    assert any(
        command.endswith("-m tests.slices all --compiled --part ${{ matrix.part }}") for command in commands
    )
    for command in commands:
        for module in re.findall(r"-m (tests\.\w+)", command):
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), command
        script = ROOT / command.split()[0]
        if command.startswith("."):
            assert script.parts[-2] in (".ci", "bin"), command


def test_the_machines_of_a_week_run_the_whole_long_suite() -> None:
    weekly = next(path for path in WORKFLOWS if path.stem == "weekly")
    parts = yaml.safe_load(weekly.read_text())["jobs"]["slices"]["strategy"]["matrix"]["part"]
    assert parts == [f"{number}/{len(parts)}" for number in range(1, len(parts) + 1)]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_little(path: Path) -> None:
    """They read the repository, and no more unless a job says so; every job ends."""
    content = yaml.safe_load(path.read_text())
    assert content["permissions"] == {"contents": "read"}
    for job in content["jobs"].values():
        assert job["timeout-minutes"] < 360


def test_the_site_comes_from_where_it_is_built() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text())["jobs"]
    (uploaded,) = [step for step in jobs["site"]["steps"] if "upload-pages" in step.get("uses", "")]
    site = re.search(r"^site_dir: (.*)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert site is not None
    assert uploaded["with"]["path"] == site[1]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    if path.stem == "config":
        return
    assert content["name"]
    assert content["description"]
    ids = [part["id"] for part in content["body"]]
    assert len(set(ids)) == len(ids)
    assert any(part.get("validations", {}).get("required") for part in content["body"])


def test_hooks_check_what_ci_checks() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    entries = " ".join(hook["entry"] for hook in hooks)
    script = (ROOT / ".ci" / "run").read_text()
    for tool in ("ruff check", "ruff format --check", "tests.type_check"):
        assert tool in entries
        assert tool in script


def test_the_container_passes_the_main_command() -> None:
    """Docker is not there in the tests; what it copies and runs is."""
    text = (ROOT / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["warpbank"]' in text
    assert 'CMD ["compare"]' in text
    assert "--require-hashes --requirement requirements.lock" in text
    for name in re.findall(r"^COPY (\S+)", text, re.MULTILINE):
        assert (ROOT / name).exists()


def test_files_of_the_guide_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for name in re.findall(r"`((?:\w+/)+\w+\.py|\.ci/\w+|requirements\.lock)`", text):
        assert (ROOT / name).is_file(), name
    script = subprocess.run(["bash", "-n", ROOT / ".ci" / "lock"], capture_output=True, check=False)
    assert script.returncode == 0, script.stderr
