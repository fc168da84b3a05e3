"""Random damage to files that are right: readers read what is left of them, or say in a sentence what is
wrong. The seeds are hypothesis's: the same ones by default, fresh ones in the slices of the long suite."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.readers import SENTENCE, read
from tests.synth.library import text as library
from warpbank import workloads
from warpbank.program.trace.builder import TraceBuilder, alu, load
from warpbank.program.trace.file import write_trace

ROOT = Path(__file__).parents[2]
#: What is put into a file: numbers at limits, marks of all formats, and nothing.
TOKENS = (
    *("0", "-1", "1e9", "99999999999999999999", "0x7fffffff", "nan", "4294967296", "1e999"),
    *("{", "}", "[", "]", "(", ")", ";", ",", "=", ":", '"', "'", "/*", "*/", "//", "#"),
    *("\n", "\0", "\x80", "é"),
    *(".reg", ".u64", "%r1", "@%p1", "bra", "[[launch]]", "true", '""', "[1, 2]", "{a = 1}", "library", "."),
)  # fmt: skip
SECONDS = 20
SOME = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in what takes longer."""

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def damaged(text: str, rng: random.Random) -> str:
    """A text with one to four edits: a piece is taken out, doubled, moved, or replaced."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((1, 3, 20, 200)))
        piece = text[at:end]
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:end] + piece * rng.choice((1, 2, 50)) + text[end:]
        elif kind == 2:
            rest = text[:at] + text[end:]
            to = rng.randrange(len(rest) + 1)
            text = rest[:to] + piece + rest[to:]
        elif kind == 3:
            text = text[:at] + rng.choice(TOKENS) + text[end:]
        else:
            words = text.split(" ")
            words[rng.randrange(len(words))] = rng.choice(TOKENS)
            text = " ".join(words)
    return text


def _ptx() -> str:
    return workloads.get("reduction").job("tiny").ptx


def _config() -> str:
    return 'preset = "pascal"\nlanes = 16\n[sub_core]\nbanks = 4\n[sub_core.collector]\nwindow = 4\n'


def _launch() -> str:
    return (
        '[buffers.x]\ntype = "f32"\nshape = [4, 8]\n'
        'random = { distribution = "uniform", seed = 1, low = 0.0, high = 1.0 }\n'
        '[buffers.y]\ntype = "u32"\nvalues = [1, 2, 3]\n'
        '[[launch]]\nentry = "k"\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\nargs = ["x", 7]\n'
    )


SEEDS: dict[str, tuple[Callable[[], str], str]] = {
    "ptx": (_ptx, ".ptx"),
    "code": (_ptx, ".ptx"),
    "launch": (_launch, ".toml"),
    "config": (_config, ".toml"),
    "energy": (lambda: (ROOT / "synth/energy/bow.toml").read_text(), ".toml"),
    "sweep": (lambda: (ROOT / "examples/sweep/windows.toml").read_text(), ".toml"),
    "liberty": (library, ".lib"),
    "accelsim": (lambda: (ROOT / "examples/accelsim/kernel-1.traceg").read_text(), ".traceg"),
}


@cache
def _seed(reader: str) -> str:
    return SEEDS[reader][0]()


@pytest.mark.parametrize("reader", SEEDS)
@SOME
@given(seed=st.integers(0, 2**32))
def test_damaged_text(reader: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / f"damaged{SEEDS[reader][1]}"
    path.write_bytes(damaged(_seed(reader), random.Random(seed)).encode("utf-8", "surrogatepass"))
    with limit(SECONDS):
        assert len(read(reader, path)) < SENTENCE


@SOME
@given(seed=st.integers(0, 2**32))
def test_damaged_trace(seed: int, tmp_path: Path) -> None:
    """Bytes of a trace file are changed, taken out or added."""
    rng, path = random.Random(seed), tmp_path / "trace.npz"
    write_trace(TraceBuilder().launch([[alu(1), load(2, 1, 3), alu(3, 1, 2)]]).build(), path)
    content = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(content))
        if rng.random() < 0.7:
            content[at] = rng.randrange(256)
        elif rng.random() < 0.5:
            del content[at : at + rng.choice((1, 10, 100))]
        else:
            content[at:at] = rng.randbytes(rng.choice((1, 10, 100)))
    path.write_bytes(bytes(content))
    with limit(SECONDS):
        assert len(read("trace", path)) < SENTENCE
