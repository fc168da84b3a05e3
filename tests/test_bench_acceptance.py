"""`python -m bench.acceptance`: on a stand-in for ptxas, and what a real one took of the first lines."""

from __future__ import annotations

import json
import re
import sys
from itertools import islice
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from bench import acceptance

TAKES = json.loads((Path(__file__).parent / "program" / "lowering" / "ptxas_takes.json").read_text())
STAND_IN = f"""#!{sys.executable}
import sys
from pathlib import Path
(source,) = (Path(each) for each in sys.argv[1:] if each.endswith("lines.ptx"))
text = source.read_text().splitlines()
refused = [n for n, line in enumerate(text, 1) if ".entry" in line and (WHICH)]
sys.stderr.write("".join(f"ptxas lines.ptx, line {{n}}; error   : no\\n" for n in refused))
sys.exit(1 if refused else 0)
"""


def _asked(tmp_path: Path, which: str, *more: str) -> Result:
    ptxas = tmp_path / "ptxas"
    ptxas.write_text(STAND_IN.replace("WHICH", which))
    ptxas.chmod(0o755)
    app = Typer()
    app.command()(acceptance.main)
    return CliRunner().invoke(app, ["--ptxas", str(ptxas), "--count", "300", "--show", "1", *more])


def test_what_the_assembler_alone_takes_is_told(tmp_path: Path) -> None:
    result = _asked(tmp_path, "False")
    assert result.exit_code == 1
    assert "taken by us alone: 0 of" in result.output
    assert "  we: " in result.output


def test_what_we_alone_take_is_told(tmp_path: Path) -> None:
    result = _asked(tmp_path, "True")
    assert result.exit_code == 0
    assert "taken by ptxas alone: 0 of" in result.output
    assert "  ptxas: no" in result.output


def test_of_all_float_instructions_we_take_as_many_as_the_assembler(tmp_path: Path) -> None:
    """ptxas 13.0 takes 704, and no other than we."""
    result = _asked(tmp_path, "True", "--floats")
    assert result.exit_code == 0
    assert "taken by us alone: 704 of 29824" in result.output


def test_of_all_accesses_we_take_as_many_as_the_assembler(tmp_path: Path) -> None:
    """ptxas 13.0 takes 307, and no other than we."""
    result = _asked(tmp_path, "True", "--accesses")
    assert result.exit_code == 0
    assert "taken by us alone: 307 of 17658" in result.output


def test_an_assembler_that_says_nothing_of_a_line_is_named(tmp_path: Path) -> None:
    result = _asked(tmp_path, "sys.exit('no such GPU')")
    assert result.exit_code == 2
    assert "no such GPU" in result.output.replace("\n", " ")


#: What the assembler takes and the manual lacks: carries of 16 bits, predicates in pairs of halves.
LACKING = re.compile(r"addc\.[us]16|\w+\.pred .*%hh")


def test_we_take_what_nvidia_takes_and_little_else() -> None:
    """Verdicts of `TAKES["ptxas"]`, recorded with `bench.acceptance.theirs`."""
    lines = list(dict.fromkeys(islice(acceptance.drawn(TAKES["seed"]), TAKES["drawn"])))
    taken = {lines[number] for number in TAKES["taken"]}
    assert len(taken) > 300
    lost = {line: reason for line in lines if line in taken and (reason := acceptance.ours(line))}
    assert not {line: reason for line, reason in lost.items() if not LACKING.match(line)}
    numbers = {line: number for number, line in enumerate(lines)}
    others = [numbers[line] for line in lines if line not in taken and not acceptance.ours(line)]
    assert others == TAKES["taken by us alone"], [lines[number] for number in others]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_draws_the_lines_again(seed: int) -> None:
    first, again = (list(islice(acceptance.drawn(seed), 50)) for _ in range(2))
    assert first == again
    assert not any(letter in line.partition(" ")[2] for line in first for letter in "ABCDE")
