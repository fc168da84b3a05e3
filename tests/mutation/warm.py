"""Mutants judged in one warm process: pytest collects the tests once, and each mutant is a fork of it.

A fork gives functions the mutant's code (`swap`) and runs those tests that reach the mutated statement, the
quickest first, up to the first failure. Import and collection, seconds each, are paid once.
"""

from __future__ import annotations

import ast
import ctypes
import gc
import hashlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation import plugin, swap
from tests.mutation.mapping import ROOT
from tests.mutation.operators import Mutant
from tests.thinned import WHOLE

#: A test is given this many times the processor time that it takes without a mutant, and some seconds.
SLOWER, MORE = 4.0, 2.0
#: Seconds of wall clock for a second of processor time: other processes may want the machine, too.
WALL = 12.0
#: Linux ends a process with the one that started it.
_PR_SET_PDEATHSIG = 1
#: Bytes of memory that a mutant may take more than the process that it is forked from.
MEMORY = 4 << 30


@dataclass
class Measured:
    """What a test did without a mutant.

    Parameters
    ----------
    seconds : processor time; None if it took too long.
    reached : statements that it ran, by source file.
    limit : what was too long.
    """

    seconds: float | None
    reached: dict[str, list[int]] = field(default_factory=dict)
    limit: float = 0.0


@dataclass(frozen=True)
class Judged:
    """What became of a mutant in place.

    Parameters
    ----------
    result : "killed", "survived", or "outside": it is not in a function that lives.
    why : the test that failed.
    sure : False if the function also ran while modules were imported, so that surviving says nothing.
    """

    result: str
    why: str = ""
    sure: bool = True


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


class Warm:
    """Pytest plugin that judges mutants in place of running the tests.

    Parameters
    ----------
    asked : mutants by source file.
    say : prints a line.
    judged : is told what became of each mutant.
    longest : seconds of processor time beyond which a test is left out.
    folder : measurements are kept there.
    traces : cache folder whose traces the tests may read, if no source makes traces.
    """

    def __init__(
        self,
        asked: Mapping[Path, Sequence[Mutant]],
        say: Callable[[str], None],
        judged: Callable[[Path, Mutant, Judged], None],
        longest: float,
        folder: Path,
        traces: Path | None = None,
    ) -> None:
        self.asked = {path.resolve(): list(each) for path, each in asked.items()}
        self._say, self.judged, self._longest, self._traces = say, judged, longest, traces
        self._texts = {path: path.read_text() for path in self.asked}
        self._folder = folder
        self._imported: set[CodeType] = set()
        self._kills: Counter[str] = Counter()
        self._items: dict[str, pytest.Item] = {}
        self._functions: dict[str, swap.Functions] = {}
        self.failed: list[str] = []
        self.measured: dict[str, Measured] = {}

    # Hooks.

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """A failure is enough: hypothesis does not shrink it. Functions that imports call are noted."""
        plugin.first_failure_only()
        files = {str(path) for path in self.asked}

        def called(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename in files:
                self._imported.add(frame.f_code)

        sys.setprofile(called)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests, then judge the mutants."""
        sys.setprofile(None)
        self._items = {item.nodeid: item for item in session.items}
        self._functions = swap.functions_of(self.asked)
        gc.collect()
        gc.freeze()  # forks share what is there
        self.measured = {
            name: each
            for name, each in self._measure().items()
            if each.seconds is not None and each.seconds <= self._longest
        }
        total = sum(each.seconds or 0 for each in self.measured.values())
        self._say(f"{len(self.measured)} of {len(self._items)} tests, {total:.0f} s of processor time")
        if self.failed:
            return True
        for path, every in self.asked.items():
            tree = ast.parse(self._texts[path])
            for mutant in every:
                self.judged(path, mutant, self._judge(path, mutant, tree))
        return True

    # Measuring.

    def _measure(self) -> dict[str, Measured]:
        """Time and reach of every test; those of a test file that is unchanged are kept."""
        items = self._items
        sources = "".join(_digest(path) for path in self.asked)
        key = hashlib.sha256(sources.encode()).hexdigest()[:16]
        kept = self._folder / f"measured-{key}.json"
        known = json.loads(kept.read_text()) if kept.exists() else {}
        of_file = {name: _digest(items[name].path) for name in items}
        found = {
            name: Measured(**known[name]["measured"])
            for name in items
            if name in known and known[name]["file"] == of_file[name]
        }
        found = {
            name: each
            for name, each in found.items()
            if each.seconds is not None or each.limit >= self._longest
        }
        todo = [name for name in items if name not in found]
        while todo:
            began = ""
            patience = self._longest * WALL + MORE
            for line in self._forked(lambda say: self._measuring(todo, say), patience):
                if "begin" in line:
                    began = line["begin"]
                    continue
                began, name = "", line["test"]
                todo.remove(name)
                if line["failed"]:
                    self.failed.append(name)
                elif not line["skipped"]:
                    found[name] = Measured(line["seconds"], line["reached"])
            if began:  # killed: it took too long
                self._say(f"left out, it takes too long: {began}")
                todo.remove(began)
                found[began] = Measured(None, limit=self._longest)
            known.update(
                {
                    name: {"file": of_file[name], "measured": vars(found[name])}
                    for name in items
                    if name in found
                }
            )
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(known))
        return found

    def _measuring(self, names: Sequence[str], say: Callable[[object], None]) -> None:
        reached: dict[str, set[int]] = {}
        for path, text in self._texts.items():
            lines = reached[str(path)] = set()
            swap.instrument(text, str(path), self._functions[str(path)], lines.add)
        for index, name in enumerate(names):
            say({"begin": name})
            for lines in reached.values():
                lines.clear()
            signal.setitimer(signal.ITIMER_PROF, self._longest)
            before = _used()
            reports = self._run(names, index)
            say(
                {
                    "test": name,
                    "seconds": _used() - before,
                    "failed": any(each.failed for each in reports),
                    "skipped": any(each.skipped for each in reports),
                    "reached": {file: sorted(lines) for file, lines in reached.items()},
                }
            )

    # Judging.

    def _judge(self, path: Path, mutant: Mutant, tree: ast.Module) -> Judged:
        text, file, measured = self._texts[path], str(path), self.measured
        asked = swap.changes(text, mutant.applied(text), file, self._functions[file])
        if asked is None:
            return Judged("outside")
        inner = {id(function): function.__code__ for function, _ in asked}
        sure = not any(code in self._imported for code in inner.values())
        line = swap.statement_at(tree, mutant.line)
        reaching = [
            name for name, each in measured.items() if line is None or line in each.reached.get(file, ())
        ]
        if not reaching:
            return Judged("survived", "no test reaches it", sure)
        ordered = sorted(reaching, key=lambda name: (measured[name].seconds or 0) / (1 + self._kills[name]))
        limit = (max(measured[name].seconds or 0 for name in ordered) * SLOWER + MORE) * WALL
        while ordered:
            verdict, last = self._verdict(ordered, asked, limit)
            if verdict == "passed":
                return Judged("survived", "", sure)
            if verdict == "failed":
                self._kills[last] += 1
                return Judged("killed", last)
            before = ordered[: ordered.index(last) + 1]
            if self._verdict(before, swap.Changes(), limit)[0] == "passed":
                return Judged("killed", f"no end of {last}")
            self._say(f"left out, it does not end without the mutant: {last}")
            ordered.remove(last)
            measured.pop(last)
        return Judged("survived", "no test reaches it", sure)

    def _verdict(self, names: Sequence[str], asked: swap.Changes, limit: float) -> tuple[str, str]:
        """Verdict of a fork that runs tests, and its last test: "passed", "failed", or "" if it did not end.

        Raises SystemExit if the fork ends before its first test.
        """
        last = ""
        for said in self._forked(lambda say: self._testing(names, asked, say), limit):
            last = said.get("begin", last)
            for verdict in ("failed", "passed"):
                if verdict in said:
                    return verdict, last
        if not last:
            raise SystemExit("a fork ended before its first test: is there memory and a writable /tmp?")
        return "", last

    def _testing(self, names: Sequence[str], asked: swap.Changes, say: Callable[[object], None]) -> None:
        swap.apply(asked)
        for index, name in enumerate(names):
            say({"begin": name})
            signal.setitimer(signal.ITIMER_PROF, (self.measured[name].seconds or 0) * SLOWER + MORE)
            reports = self._run(names, index)
            if any(each.failed for each in reports):
                say({"failed": name})
                return
        say({"passed": True})

    def _run(self, names: Sequence[str], index: int) -> list[pytest.TestReport]:
        """Reports of the test with this index."""
        following = self._items[names[index + 1]] if index + 1 < len(names) else None
        return runtestprotocol(self._items[names[index]], log=False, nextitem=following)

    def _forked(
        self, work: Callable[[Callable[[object], None]], None], limit: float
    ) -> Iterator[dict[str, Any]]:
        """What a child says, up to its end or to `limit` seconds without a word."""
        cache = Path(tempfile.mkdtemp(prefix="mutant-"))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            self._child(work, writing, cache)
        os.close(writing)
        rest = b""
        try:
            while select.select([reading], [], [], limit)[0]:
                part = os.read(reading, 1 << 16)
                if not part:
                    break
                *lines, rest = (rest + part).split(b"\n")
                yield from (json.loads(line) for line in lines)
        finally:
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            shutil.rmtree(cache, ignore_errors=True)

    def _child(self, work: Callable[[Callable[[object], None]], None], writing: int, cache: Path) -> None:
        try:
            os.setpgid(0, 0)
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            nothing = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(nothing, standard)
            if self._traces is not None:
                for trace in self._traces.glob("*.npz"):
                    (cache / trace.name).symlink_to(trace)
            os.environ["WARPBANK_TEST_CACHE"] = str(cache)
            most = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize() + MEMORY
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))

            def say(line: object) -> None:
                os.write(writing, json.dumps(line).encode() + b"\n")

            work(say)
        finally:
            os._exit(0)


def _used() -> float:
    """Processor time of this process and of those that it started, in seconds."""
    found = os.times()
    return found.user + found.system + found.children_user + found.children_system


def judge_all(warm: Warm, tests: Sequence[str], select: str = "") -> None:
    """Run pytest with the plugin, on tests whose names match the expression `select`.

    Raises SystemExit if tests fail without a mutant, or cannot be collected.
    """
    os.environ["WARPBANK_COMPILED"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-s", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--no-summary"]
        options += ["--tb=line", f"--basetemp={folder}/tests", f"--rootdir={ROOT}"]
        options += WHOLE
        if select:
            options += ["-k", select]
        code = pytest.main([*options, *(str(ROOT / test) for test in tests)], plugins=[warm])
    if warm.failed:
        raise SystemExit(f"tests fail without a mutant: {', '.join(warm.failed)}")
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"pytest ended with {code}: the tests cannot be collected")
