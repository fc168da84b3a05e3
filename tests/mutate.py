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
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutation import plugin
from tests.mutation.mapping import ROOT, mapped_tests, module_of
from tests.mutation.operators import Mutant, mutants

#: Where results are kept while a file is worked on; ignored by git.
FOLDER = ROOT / "build" / "mutants"
#: Scores and survivors of the files that have been run, for the page.
RECORD = Path(__file__).with_name("mutation.json")
PAGE = ROOT / "docs" / "mutation.md"
RESULTS = ("killed", "equivalent", "survived", "invalid")
#: A mutant is given this many times what the tests take without one, and some seconds.
SLOWER, MORE = 4.0, 30.0

#: Runs test files with a mutant, or without: exit code, seconds and output of pytest. None: it took too long.
Runner = Callable[[Sequence[str], Path | None, float | None], tuple[int | None, float, str]]


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
        command += ["-p", "no:cacheprovider", "--no-header", "--tb=no", *tests]
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


def digest(path: Path, tests: Iterable[str]) -> str:
    """Digest of a source and of the tests that map to it."""
    found = hashlib.sha256(path.read_bytes())
    for test in tests:
        found.update(test.encode() + (ROOT / test).read_bytes())
    return found.hexdigest()[:16]


def judge(
    path: Path,
    mutant: Mutant,
    tests: Sequence[str],
    limit: float,
    prove: Callable[[Path], str],
    runner: Runner = run_tests,
) -> Result:
    """Result of one mutant of a file. `prove` is asked for a proof of equivalence with a planted mutant."""
    with tempfile.TemporaryDirectory() as folder:
        planted = Path(folder) / "mutant.json"
        text = mutant.applied(path.read_text())
        planted.write_text(json.dumps({"module": module_of(path), "source": text}))
        if not _imports(planted, module_of(path)):
            return Result(str(mutant), "invalid", "the module cannot be imported")
        code, seconds, output = runner(tests, planted, limit)
        if code is None:
            return Result(str(mutant), "killed", f"no end after {seconds:.0f} s")
        if code:
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
            return Result(str(mutant), "killed", failed[1] if failed else f"pytest ended with {code}")
        proof = prove(planted)
        return Result(str(mutant), "equivalent" if proof else "survived", proof)


def _prover(path: Path, folder: Path) -> Callable[[Path], str]:
    """Prover for the mutants of a file: of hdl by its units' RTL; of other rooms there is none."""
    if path.resolve().relative_to(ROOT).parts[0] != "hdl":
        return lambda planted: ""
    from tests.mutation import equivalence

    names = equivalence.units_with(path)
    before = folder / "before"
    equivalence.written(before, names)

    def prove(planted: Path) -> str:
        after = planted.parent / "after"
        equivalence.written(after, names, planted)
        return equivalence.proof(before, after, names)

    return prove


def run(
    path: Path,
    every: Sequence[Mutant],
    tests: Sequence[str],
    say: Callable[[str], None],
    runner: Runner = run_tests,
) -> dict[str, Result]:
    """Results of mutants of a file, by key; those that are kept are not run again.

    Raises SystemExit if the tests fail without a mutant.
    """
    kept = FOLDER / f"{module_of(path)}-{digest(path, tests)}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    results = (
        {key: Result(**each) for key, each in json.loads(kept.read_text()).items()} if kept.exists() else {}
    )
    todo = [each for each in every if each.key not in results]
    if todo:
        code, seconds, output = runner(tests, None, None)
        if code:
            raise SystemExit(f"the tests of {path} fail without a mutant:\n{output[-2000:]}")
        say(f"{len(todo)} mutants, {seconds:.0f} s of tests each at most: {' '.join(tests)}")
        with tempfile.TemporaryDirectory() as folder:
            prove = _prover(path, Path(folder))
            for number, mutant in enumerate(todo, 1):
                result = judge(path, mutant, tests, seconds * SLOWER + MORE, prove, runner)
                results[mutant.key] = result
                part = kept.with_suffix(".part")
                part.write_text(json.dumps({key: asdict(each) for key, each in results.items()}, indent=1))
                os.replace(part, kept)
                say(f"{number} of {len(todo)}: {result.result}: {mutant} {result.why and f'({result.why})'}")
    return {each.key: results[each.key] for each in every}


def score(counts: Mapping[str, int]) -> float:
    """Share of mutants that were killed or proved equivalent, in percent; 100 if there is none."""
    done = counts.get("killed", 0) + counts.get("equivalent", 0)
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
    }


def table(record: Mapping[str, Mapping[str, object]]) -> str:
    """Markdown table of the recorded files, and their survivors."""
    lines = [
        "| file | mutants | run | killed | equivalent | survived | invalid | score |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, found in sorted(record.items()):
        counts = {each: int(str(found[each])) for each in RESULTS}
        cells = " | ".join(str(counts[each]) for each in RESULTS)
        lines.append(f"| `{name}` | {found['mutants']} | {found['run']} | {cells} | {score(counts):.0f} % |")
    for name, found in sorted(record.items()):
        survivors = found["survivors"]
        assert isinstance(survivors, list)
        if survivors:
            lines += ["", f"Survivors in `{name}`:", "", *(f"- `{each}`" for each in survivors)]
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
    parser.add_argument("path", nargs="?", type=Path, help="source file in hdl, golden or program")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn from the seed (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default: %(default)s)")
    parser.add_argument("--line", type=int, help="mutants of this line only")
    parser.add_argument("--tests", action="append", default=[], help="more test files; may be repeated")
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
    if asked.path is None or not asked.path.is_file():
        parser.error(f"name a source file in hdl, golden or program: {asked.path} is none")
    try:
        module_of(asked.path)
    except ValueError as error:
        parser.error(f"name a source file in hdl, golden or program: {error}")
    every = list(mutants(asked.path.read_text()))
    picked = chosen(every, asked.sample, asked.seed, asked.line)
    tests = list(dict.fromkeys([*mapped_tests(asked.path), *asked.tests]))
    if not tests:
        parser.error(f"no test mirrors or imports {asked.path}; name some with --tests")
    if asked.list:
        sys.stdout.write("".join(f"{each}\n" for each in [*picked, *tests]))
        return 0

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    results = run(asked.path, picked, tests, say)
    name = str(asked.path.resolve().relative_to(ROOT))
    found = entry(results.values(), len(every), asked.seed)
    if asked.line is None:
        RECORD.write_text(json.dumps(dict(sorted({**_recorded(), name: found}.items())), indent=1) + "\n")
    say(table({name: found}))
    return 1 if found["survived"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
