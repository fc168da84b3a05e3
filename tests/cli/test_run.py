"""`warpbank run` on every shipped kernel: right memory, right operands, every instruction retired once,
stalls that add up."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.cli.command import warpbank
from warpbank import workloads
from warpbank.arch.config import preset
from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import Stall

KEYS = (
    "kernel",
    "size",
    "scheme",
    "preset",
    "engine",
    "config_hash",
    "cycles",
    "warp_instructions",
    "ipc",
    "operand_mismatches",
    "counters",
    "stalls",
)


def _run(*arguments: str) -> dict[str, Any]:
    done = warpbank("run", *arguments, "--json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert isinstance(data, dict)
    return data


def _sound(data: dict[str, Any], name: str, size: str, machine: str) -> None:
    """What must hold of every run."""
    assert set(KEYS) <= set(data)
    assert (data["kernel"], data["size"], data["preset"]) == (name, size, machine)
    job = workloads.get(name).job(size)
    elements = sum(expected.value.size for expected in job.expected.values())
    assert data["memory"] == {"buffers": len(job.expected), "elements": elements, "wrong": 0}
    assert elements > 0
    assert data["operand_mismatches"] == 0
    assert data["operands_checked"] == data["counters"]["collector.deliveries"] > 0
    assert data["counters"]["retire.uops"] == data["counters"]["issue.uops"] == data["warp_instructions"]
    assert set(data["counters"]) == set(COUNTERS)
    schedulers = preset(machine).schedulers
    assert set(data["stalls"]) == {stall.name.lower() for stall in Stall}
    assert sum(data["stalls"].values()) == data["cycles"] * schedulers
    assert data["stalls"]["issued"] == data["warp_instructions"]
    assert data["ipc"] == pytest.approx(data["warp_instructions"] / data["cycles"])


def test_compile_options_are_in_the_result() -> None:
    usual = _run("vectoradd", "--size", "tiny", "--preset", "tiny")
    assert [usual[name] for name in ("code_order", "constants", "free_registers")] == [
        "scheduled",
        "bank",
        24,
    ]
    other = _run(
        *("vectoradd", "--size", "tiny", "--preset", "tiny", "--code-order", "source"),
        *("--constants", "registers", "--free-registers", "16", "--max-registers", "32"),
    )
    names = ("code_order", "constants", "free_registers", "max_registers")
    assert [other[name] for name in names] == ["source", "registers", 16, 32]
    assert other["trace"] != usual["trace"]
    assert other["memory"] == usual["memory"]
    assert other["operands_checked"] > usual["operands_checked"]  # constants are read as registers


@pytest.mark.parametrize("machine", ["turing", "fermi"])
@pytest.mark.parametrize("name", workloads.names())
def test_every_kernel_tiny(name: str, machine: str) -> None:
    _sound(_run(name, "--size", "tiny", "--preset", machine), name, "tiny", machine)


@pytest.mark.long
@pytest.mark.parametrize("scheduler", [pytest.param("lrr", marks=pytest.mark.long), "gto"])
@pytest.mark.parametrize("name", workloads.names())
def test_every_kernel_small(name: str, scheduler: str) -> None:
    override = ("--set", f"sub_core.front_end.scheduler={scheduler}")
    _sound(_run(name, "--size", "small", *override), name, "small", "turing")


@pytest.mark.long
@pytest.mark.parametrize("machine", ["turing", "pascal", "maxwell", "fermi", "tiny"])
@pytest.mark.parametrize("name", workloads.names())
def test_every_kernel_small_on_every_machine(name: str, machine: str) -> None:
    _sound(_run(name, "--size", "small", "--preset", machine), name, "small", machine)


@pytest.mark.long
@pytest.mark.parametrize("name", workloads.names())
def test_every_kernel_full(name: str) -> None:
    data = _run(name, "--size", "full")
    _sound(data, name, "full", "turing")
    assert data["warp_instructions"] >= 200_000


def test_equal_configurations_have_equal_hashes() -> None:
    plain = _run("vectoradd", "--size", "tiny")
    named = _run("vectoradd", "--size", "tiny", "--set", "sub_core.banks=2")
    other = _run("vectoradd", "--size", "tiny", "--set", "sub_core.banks=4")
    assert plain["config_hash"] == named["config_hash"] != other["config_hash"]
    assert plain["trace"] == other["trace"]


def test_register_limit_follows_the_machine() -> None:
    """sgemm wants some hundred registers per thread; a small register file gets code that fits it."""
    wide = _run("sgemm", "--size", "tiny")
    narrow = _run("sgemm", "--size", "tiny", "--set", "sub_core.rows=32")
    assert max(narrow["registers"].values()) <= 64 < max(wide["registers"].values())
    assert narrow["memory"]["wrong"] == 0


@pytest.mark.parametrize(
    ("scheme", "hits"), [("baseline", ()), ("malekeh", ("boc.forwards",)), ("rfc", ("cache.reads",))]
)
def test_a_run_tells_hits_and_what_made_it(scheme: str, hits: tuple[str, ...]) -> None:
    arguments = (
        "reduction",
        "--size",
        "tiny",
        "--preset",
        "tiny",
        "--scheme",
        scheme,
        "--set",
        "sub_core.collector.seed=7",
    )
    data = _run(*arguments)
    found = sum(data["counters"][name] for name in hits)
    whole = data["counters"]["collector.deliveries"] + data["counters"]["boc.forwards"]
    assert data["hit_ratio"] == pytest.approx(100 * found / whole)
    assert bool(found) == bool(hits)
    assert data["seed"] == 7
    done = warpbank("run", *arguments)
    lines = [re.split(r"\s{2,}", line.strip()) for line in done.out.splitlines()]
    rows = {line[0]: line[1] for line in lines if len(line) == 2}
    assert rows["hit ratio"] == f"{data['hit_ratio']:.1f} % of source operands"
    assert rows["seed"] == "7, of random choices"
    assert all(f"{tool} {version}" in rows["made by"] for tool, version in data["versions"].items())


def test_counters_are_grouped_and_those_that_are_zero_left_out() -> None:
    """Without --verbose no counter that is zero is printed, and their number is told; with it all are. The
    JSON always has all."""
    arguments = ("run", "vectoradd", "--size", "tiny", "--preset", "tiny", "--scheme", "bow")
    counts = json.loads(warpbank(*arguments, "--json").out)["counters"]
    zero = {name for name, count in counts.items() if not count}
    assert zero
    short, full = warpbank(*arguments).out, warpbank(*arguments, "--verbose").out

    def named(text: str) -> set[str]:
        return {line.split()[0] for line in text.splitlines() if line.strip()} & set(COUNTERS)

    assert named(short) == set(COUNTERS) - zero
    assert named(full) == set(COUNTERS)
    assert f"{len(zero)} more counters are zero" in short
    assert "more counters are zero" not in full
    lines = [line.strip() for line in short.splitlines()]
    assert lines.index("collectors") < lines.index("register banks") < lines.index("execution units")
    assert "register file cache" not in lines
    assert "register file cache" in [line.strip() for line in full.splitlines()]


def test_a_sample_says_what_it_is() -> None:
    data = _run("vectoradd", "--size", "small", "--sample")
    whole = _run("vectoradd", "--size", "small")
    assert whole["sample"] is None
    assert data["warp_instructions"] == whole["warp_instructions"]
    assert data["ipc"] == pytest.approx(whole["ipc"], rel=0.05)
    assert data["sample"]["ratio"] == data["warp_instructions"] / data["sample"]["simulated"]
    assert data["sample"]["counter_margins"].keys() == data["counters"].keys()
    text = warpbank("run", "vectoradd", "--size", "small", "--sample").out
    assert f"{data['sample']['simulated']:,} of {data['warp_instructions']:,} warp instructions" in text
    assert re.search(r"IPC +0\.\d{4} ± 0\.\d{4}, at 95% confidence", text)


def test_an_interval_of_no_checkpoint() -> None:
    done = warpbank("run", "vectoradd", "--size", "tiny", "--checkpoint-every", "5")
    assert done.code == 2
    assert "says how often --checkpoint is written; give both" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "pysim"), "a sample runs on the golden model, not on pysim"),
        (("--over-time", "x.csv"), "a sample has no events of the whole run"),
    ],
)
def test_what_a_sample_cannot_do(options: tuple[str, ...], words: str) -> None:
    done = warpbank("run", "vectoradd", "--size", "tiny", "--sample", *options)
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_a_program_runs_again_and_again() -> None:
    once, thrice = _run("dct8x8", "--size", "tiny"), _run("dct8x8", "--size", "tiny", "--repeat", "3")
    assert (once["repeat"], thrice["repeat"]) == (1, 3)
    for name in ("warp_instructions", "operands_checked"):
        assert thrice[name] == 3 * once[name]
    assert 2 * once["cycles"] < thrice["cycles"] <= 3 * once["cycles"]  # warm caches from the second run on
    assert "repeated" in warpbank("run", "dct8x8", "--size", "tiny", "--repeat", "3").out
    assert "repeated" not in warpbank("run", "dct8x8", "--size", "tiny").out


@pytest.mark.parametrize("times", ["0", "-1", "x", "1000001"])
def test_how_often_a_program_cannot_run(times: str) -> None:
    done = warpbank("run", "dct8x8", "--size", "tiny", "--repeat", times)
    assert done.code == 2
    assert "--repeat" in done.err
