"""Mutation testing: plants semantic mutants in a file of hdl, golden or program, and runs the tests that map
to it.

    python -m tests.mutate golden/collector/boc.py            # all mutants that have no result yet
    python -m tests.mutate program/liveness.py --sample 40 --seed 3
    python -m tests.mutate program/liveness.py --line 88      # mutants of one line
    python -m tests.mutate --table                            # what is recorded, as docs/mutation.md shows it

A mutant is *killed* if a test fails or takes too long, *invalid* if the module cannot be imported with it,
*equivalent* if the RTL of the units that use the file is proved equal (hdl only), and *survived* otherwise.
Results are kept in `build/mutants` as soon as they are there, by the text of the file and of its tests, so
that a run that was stopped goes on; a finished sample is put into `mutation.json`.
"""

from __future__ import annotations

import argparse
import ast
import functools
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation import plugin, swap
from tests.mutation.mapping import ROOT, mapped_tests, module_of
from tests.mutation.operators import Mutant, changes, mutants
from tests.mutation.warm import WALL, Judged, Warm, judge_all
from tests.thinned import WHOLE

#: Where results are kept while a file is worked on; ignored by git.
FOLDER = ROOT / "build" / "mutants"
#: Scores and survivors of the files that have been run, for the page.
RECORD = Path(__file__).with_name("mutation.json")
PAGE = ROOT / "docs" / "mutation.md"
RESULTS = ("killed", "equivalent", "argued", "survived", "invalid")
#: A mutant is given this many times what the tests take without one, and some seconds.
SLOWER, MORE = 4.0, 30.0
#: Seconds of processor time beyond which a test is left out.
LONGEST = 60.0
#: Why mutants change nothing that no tool proves equivalent.
ARGUED = Path(__file__).with_name("mutation") / "equivalents.toml"

#: Runs test files with a mutant, or without: exit code, seconds and output of pytest. None: it took too long.
Runner = Callable[[Sequence[str], Path | None, float | None], tuple[int | None, float, str]]
#: Proof that a planted mutant changes nothing, in a sentence; "" if there is none.
Prover = Callable[[Path, Mutant], str]


@dataclass(frozen=True)
class Result:
    """What became of a mutant.

    Parameters
    ----------
    mutant : the change, as a sentence.
    result : one of `RESULTS`.
    why : the test that failed, the proof, or "".
    """

    mutant: str
    result: str
    why: str


def run_tests(
    tests: Sequence[str], mutant: Path | None, limit: float | None
) -> tuple[int | None, float, str]:
    """Run test files up to the first failure, with an empty cache folder."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "WARPBANK_TEST_CACHE": cache, "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop(plugin.VARIABLE, None)
        if mutant is not None:
            environment[plugin.VARIABLE] = str(mutant)
        command = [sys.executable, "-m", "pytest", "-p", "tests.mutation.plugin", "-x", "-q", "-n", "0"]
        command += ["-p", "no:cacheprovider", "--no-header", "--tb=no", *WHOLE, *tests]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return None, time.monotonic() - begin, ""
        return done.returncode, time.monotonic() - begin, done.stdout + done.stderr


def _imports(mutant: Path, module: str) -> bool:
    """Whether a module can be imported with a mutant."""
    code = f"import tests.mutation.plugin, importlib; importlib.import_module({module!r})"
    environment = {**os.environ, plugin.VARIABLE: str(mutant)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, check=False
    )
    return done.returncode == 0


def chosen(every: Sequence[Mutant], sample: int | None, seed: int, line: int | None) -> list[Mutant]:
    """The mutants of one line, or a seeded sample, or all."""
    if line is not None:
        return [each for each in every if each.line == line]
    if sample is None or sample >= len(every):
        return list(every)
    picked = random.Random(seed).sample(range(len(every)), sample)
    return [every[index] for index in sorted(picked)]


def digest(paths: Iterable[Path]) -> str:
    """Digest of files, their names included."""
    found = hashlib.sha256()
    for path in paths:
        found.update(os.path.relpath(path.resolve(), ROOT).encode() + path.read_bytes())
    return found.hexdigest()[:16]


def digest_of_test(text: str, name: str) -> str:
    """Digest of a test and of all that its file has but other tests."""
    tree = ast.parse(text)
    names = name.split("::")
    for owner in [tree, *(each for each in tree.body if isinstance(each, ast.ClassDef))]:
        owner.body = [
            each
            for each in owner.body
            if not (
                isinstance(each, ast.FunctionDef) and each.name.startswith("test_") and each.name not in names
            )
        ]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def argued(path: Path) -> dict[str, str]:
    """Reasons why mutants of a file change nothing, by key of the mutant, from `equivalents.toml`.

    Raises ValueError if an entry fits no mutant.
    """
    name, source = str(path.resolve().relative_to(ROOT)), path.read_text()
    lines, every = source.splitlines(), list(changes(source))
    found = {}
    for each in tomllib.loads(ARGUED.read_text()).get(name, []):
        fitting = [
            mutant
            for mutant in every
            if mutant.change == each["change"] and lines[mutant.line - 1].strip() == each["line"]
        ]
        if not fitting:
            raise ValueError(f"{name} has no mutant {each['change']} in the line {each['line']}")
        found.update({mutant.key: each["reason"] for mutant in fitting})
    return found


def judge(
    path: Path, mutant: Mutant, tests: Sequence[str], limit: float, prove: Prover, runner: Runner = run_tests
) -> Result:
    """Result of one mutant of a file in processes of its own. `prove` is asked for a proof that a planted
    mutant changes nothing."""
    with _planted(path, mutant) as planted:
        if not _imports(planted, module_of(path)):
            return Result(str(mutant), "invalid", "the module cannot be imported")
        code, seconds, output = runner(tests, planted, limit)
        if code is None:
            return Result(str(mutant), "killed", f"no end after {seconds:.0f} s")
        if code:
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
            return Result(str(mutant), "killed", failed[1] if failed else f"pytest ended with {code}")
        proof = prove(planted, mutant)
        return Result(str(mutant), "equivalent" if proof else "survived", proof)


@contextmanager
def _planted(path: Path, mutant: Mutant) -> Iterator[Path]:
    """A mutant as `plugin` reads it, in a folder that goes at the end."""
    with tempfile.TemporaryDirectory() as folder:
        planted = Path(folder) / "mutant.json"
        text = mutant.applied(path.read_text())
        planted.write_text(json.dumps({"module": module_of(path), "source": text}))
        yield planted


def _prover(path: Path, folder: Path) -> Prover:
    """Prover for the mutants of a file: of hdl by the RTL of units that run the changed statement; of other
    rooms there is none."""
    if path.resolve().relative_to(ROOT).parts[0] != "hdl":
        return lambda planted, mutant: ""
    from tests.mutation import equivalence

    every = equivalence.units_with(path)
    reached = equivalence.reached(path, every)
    tree, before = ast.parse(path.read_text()), folder / "before"
    written: set[str] = set()

    def prove(planted: Path, mutant: Mutant) -> str:
        line = swap.statement_at(tree, mutant.line)
        names = [name for name in every if line is None or line in reached[name]][: equivalence.MOST]
        if new := [name for name in names if name not in written]:
            equivalence.written(before, new)
            written.update(new)
        after = planted.parent / "after"
        equivalence.written(after, names, planted)
        return equivalence.proof(before, after, names)

    return prove


class Kept:
    """Results of the mutants of one file that are kept between runs.

    A mutant that was killed stays so while the killing test is unchanged, and one that survived once is
    argued for as long as there is a reason; others are judged again when any of the tests has changed, or
    longer ones are to run.

    Parameters
    ----------
    path : the source.
    tests : test files that map to it.
    longest : seconds beyond which tests are left out.
    select : expression that selects tests, as pytest's `-k`.
    """

    def __init__(self, path: Path, tests: Sequence[str], longest: float = LONGEST, select: str = "") -> None:
        self._reasons = argued(path)
        self._file = FOLDER / f"{module_of(path)}-{digest([path])}.json"
        self._tests = f"{digest(ROOT / test for test in tests)}-{longest:g}{select and f' {select}'}"
        self._every = json.loads(self._file.read_text()) if self._file.exists() else {}

    def get(self, mutant: Mutant) -> Result | None:
        """The mutant's result, if it still holds."""
        found = self._every.get(mutant.key)
        if found is None:
            return None
        if found["result"] in ("survived", "argued") and mutant.key in self._reasons:
            return Result(found["mutant"], "argued", self._reasons[mutant.key])
        if found["result"] == "argued" or found["tests"] not in (self._tests, self._killer(found["why"])):
            return None
        return Result(found["mutant"], found["result"], found["why"])

    def put(self, mutant: Mutant, result: Result) -> None:
        """Keep a result."""
        killer = self._killer(result.why) if result.result == "killed" else None
        self._every[mutant.key] = {**asdict(result), "tests": killer or self._tests}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(self._every, indent=1))
        os.replace(part, self._file)

    @staticmethod
    def _killer(why: str) -> str | None:
        """Digest of a test: its file without the other tests. None if there is no such test."""
        place, _, name = why.removeprefix("no end of ").partition("::")
        file = ROOT / place
        return digest_of_test(file.read_text(), name.partition("[")[0]) if file.is_file() else None


def run(
    asked: Mapping[Path, Sequence[Mutant]],
    tests: Mapping[Path, Sequence[str]],
    say: Callable[[str], None],
    longest: float = LONGEST,
    traces: Path | None = None,
    select: str = "",
    proofs: bool = True,
    judging: Callable[[Warm, Sequence[str], str], None] = judge_all,
) -> dict[Path, dict[str, Result]]:
    """Results of mutants of files, by key; those that are kept are not judged again.

    Raises SystemExit if a test fails without a mutant.
    """
    chosen_by = f"{select}{'' if proofs else ' without proofs'}"
    kept = {path: Kept(path, tests[path], longest, chosen_by) for path in asked}
    reasons = {path: argued(path) for path in asked}
    todo = {path: [each for each in every if kept[path].get(each) is None] for path, every in asked.items()}
    todo = {path: every for path, every in todo.items() if every}
    left, outside = sum(map(len, todo.values())), list[tuple[Path, Mutant]]()

    def done(path: Path, mutant: Mutant, result: Result) -> None:
        nonlocal left
        if result.result == "survived" and mutant.key in reasons[path]:
            result = Result(result.mutant, "argued", reasons[path][mutant.key])
        kept[path].put(mutant, result)
        left -= 1
        say(f"{left} left: {path.name}: {result.result}: {mutant} {result.why and f'({result.why})'}")

    with tempfile.TemporaryDirectory() as folder:

        @functools.cache
        def prover(path: Path) -> Prover:
            if not proofs:
                return lambda planted, mutant: ""
            return _prover(path, Path(folder) / module_of(path))

        def judged(path: Path, mutant: Mutant, found: Judged) -> None:
            if found.result == "outside" or (found.result == "survived" and not found.sure):
                outside.append((path, mutant))
            elif found.result == "killed":
                done(path, mutant, Result(str(mutant), "killed", found.why))
            elif mutant.key in reasons[path]:
                done(path, mutant, Result(str(mutant), "survived", found.why))
            else:
                with _planted(path, mutant) as planted:
                    proof = prover(path)(planted, mutant)
                done(
                    path,
                    mutant,
                    Result(str(mutant), "equivalent" if proof else "survived", proof or found.why),
                )

        if todo:
            files = list(dict.fromkeys(test for path in todo for test in tests[path]))
            say(f"{left} mutants in {len(todo)} files, {len(files)} files of tests")
            warm = Warm(todo, say, judged, longest, FOLDER, traces)
            judging(warm, files, select)
            seconds = {name: each.seconds or 0.0 for name, each in warm.measured.items()}
            limit = sum(seconds.values()) * SLOWER * WALL + MORE
            for path, mutant in outside:
                names = [
                    name
                    for name in sorted(seconds, key=seconds.__getitem__)
                    if name.split("::")[0] in tests[path]
                ]
                done(path, mutant, judge(path, mutant, names, limit, prover(path)))
    results = {path: {each.key: kept[path].get(each) for each in every} for path, every in asked.items()}
    return {path: {key: each for key, each in found.items() if each} for path, found in results.items()}


def score(counts: Mapping[str, int]) -> float:
    """Share of mutants that were killed or proved equivalent, in percent; 100 if there is none."""
    done = sum(counts.get(each, 0) for each in ("killed", "equivalent", "argued"))
    valid = done + counts.get("survived", 0)
    return 100 * done / valid if valid else 100.0


def entry(results: Iterable[Result], total: int, seed: int) -> dict[str, object]:
    """What is recorded of a file."""
    found = list(results)
    counts = Counter(each.result for each in found)
    return {
        "mutants": total,
        "run": len(found),
        "seed": seed,
        **{name: counts.get(name, 0) for name in RESULTS},
        "survivors": [each.mutant for each in found if each.result == "survived"],
        "reasons": {each.mutant: each.why for each in found if each.result == "argued"},
    }


def table(record: Mapping[str, Mapping[str, object]]) -> str:
    """Markdown table of the recorded files, and their survivors."""
    lines = [
        "| file | mutants | run | killed | equivalent | argued | survived | invalid | score |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in sorted(record.items()):
        counts = {each: int(str(found[each])) for each in RESULTS}
        cells = " | ".join(str(counts[each]) for each in RESULTS)
        lines.append(f"| `{name}` | {found['mutants']} | {found['run']} | {cells} | {score(counts):.0f} % |")
    for name, found in sorted(record.items()):
        survivors, reasons = found["survivors"], found["reasons"]
        assert isinstance(survivors, list)
        assert isinstance(reasons, dict)
        if survivors:
            lines += ["", f"Survivors in `{name}`:", "", *(f"- `{each}`" for each in survivors)]
        if reasons:
            lines += ["", f"Argued in `{name}`:", ""]
            lines += [f"- `{each}`: {reason}" for each, reason in reasons.items()]
    return "\n".join(lines) + "\n"


def page(text: str, record: Mapping[str, Mapping[str, object]]) -> str:
    """A page with the table between its marks."""
    before, mark, rest = text.partition("<!-- mutation -->\n")
    _, end, after = rest.partition("<!-- end -->")
    assert mark, "the page has no mark <!-- mutation -->"
    assert end, "the page has no mark <!-- end -->"
    return f"{before}{mark}{table(record)}{end}{after}"


def _recorded() -> dict[str, dict[str, object]]:
    return dict(json.loads(RECORD.read_text())) if RECORD.exists() else {}


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code: 1 if a mutant survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__.split("\n\n")[0])
    parser.add_argument("path", nargs="*", type=Path, help="source files in hdl, golden or program")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn from the seed (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    parser.add_argument("--line", type=int, help="mutants of this line only")
    parser.add_argument("--tests", action="append", default=[], help="more test files; may be repeated")
    parser.add_argument(
        "--longest",
        type=float,
        default=LONGEST,
        metavar="SECONDS",
        help="leave tests out that take more processor time (default: %(default)s)",
    )
    parser.add_argument(
        "--select",
        default="",
        metavar="EXPRESSION",
        help="leave tests out whose names do not match, as pytest's -k does",
    )
    parser.add_argument(
        "--no-proofs", dest="proofs", action="store_false", help="let Yosys prove nothing of survivors"
    )
    parser.add_argument(
        "--traces",
        type=Path,
        metavar="FOLDER",
        help="cache folder whose traces tests of hdl and golden may read (default: each makes its own)",
    )
    parser.add_argument(
        "--list", action="store_true", help="print the mutants and the tests, and run nothing"
    )
    parser.add_argument(
        "--table", action="store_true", help="print what is recorded, and bring the page up to date"
    )
    asked = parser.parse_args(arguments)
    if asked.table:
        sys.stdout.write(table(_recorded()))
        PAGE.write_text(page(PAGE.read_text(), _recorded()))
        return 0
    if not asked.path:
        parser.error("name a source file in hdl, golden or program")
    picked: dict[Path, list[Mutant]] = {}
    tests: dict[Path, list[str]] = {}
    for path in (each.resolve() for each in asked.path):
        if not path.is_file():
            parser.error(f"name a source file in hdl, golden or program: {path} is none")
        try:
            room = module_of(path).split(".")[1]
        except ValueError as error:
            parser.error(f"name a source file in hdl, golden or program: {error}")
        if asked.traces is not None and room not in ("hdl", "golden"):
            parser.error(f"{path} may change traces: leave out --traces")
        picked[path] = chosen(list(mutants(path.read_text())), asked.sample, asked.seed, asked.line)
        tests[path] = list(dict.fromkeys([*mapped_tests(path), *asked.tests]))
        if not tests[path]:
            parser.error(f"no test mirrors or imports {path}; name some with --tests")
        if asked.list:
            sys.stdout.write("".join(f"{each}\n" for each in [*picked[path], *tests[path]]))
    if asked.list:
        return 0

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    record = {}
    for path, results in run(
        picked, tests, say, asked.longest, asked.traces, asked.select, asked.proofs
    ).items():
        total = len(list(mutants(path.read_text())))
        record[str(path.resolve().relative_to(ROOT))] = entry(results.values(), total, asked.seed)
    if asked.line is None:
        RECORD.write_text(json.dumps(dict(sorted({**_recorded(), **record}.items())), indent=1) + "\n")
    say(table(record))
    return 1 if any(found["survived"] for found in record.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
