"""Files of a megabyte that would take hours or gigabytes end in a sentence, in time and memory that do not
depend on what they claim. All of them, each in a process with limits:

    pytest -m long tests/fuzz/test_hostile.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import hostile
from tests.fuzz.readers import SENTENCE, limited, read

#: Reader -> the files for it, and how their names end.
FILES: dict[str, tuple[dict[str, Any], str]] = {
    "ptx": (hostile.PTX, ".ptx"),
    "code": (hostile.LONG_CODE, ".ptx"),
    "launch": (hostile.TOML, ".toml"),
    "config": (hostile.TOML, ".toml"),
    "energy": (hostile.TOML, ".toml"),
    "sweep": (hostile.TOML | hostile.SWEEPS, ".toml"),
    "liberty": (hostile.LIBERTY, ".lib"),
    "trace": (hostile.TRACES, ".npz"),
    "accelsim": (hostile.ACCELSIM, ".traceg"),
}
#: What is done in a moment, and once was not, or ended in a traceback.
QUICK = [
    ("ptx", "comments that never end"),
    ("ptx", "many initialised variables"),
    ("ptx", "dimensions"),
    ("ptx", "a long number"),
    ("ptx", "one word"),
    ("launch", "nested lists"),
    ("config", "nested tables"),
    ("energy", "a dotted header"),
    ("launch", "a long number"),
    ("launch", "a long hexadecimal number"),
    ("launch", "many dimensions"),
    ("sweep", "ten thousand million runs"),
    ("liberty", "spaces behind an attribute"),
    ("liberty", "comments that never end"),
    ("liberty", "many inputs"),
    ("liberty", "a nested function"),
    ("accelsim", "one instruction"),
]
#: Files that may be read: they are only long.
WHOLE = {
    "a sum",
    "a huge initialised variable",
    "a long name",
    "an exponent",
    "labels",
    "straight code",
    "closing braces",
    "semicolons",
}


def _written(make: Callable[[], str | bytes], ending: str, folder: Path) -> Path:
    path, content = folder / f"hostile{ending}", make()
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(("reader", "name"), QUICK)
def test_a_sentence_at_once(reader: str, name: str, tmp_path: Path) -> None:
    files, ending = FILES[reader]
    path = _written(files[name], ending, tmp_path)
    started = time.process_time()
    sentence = read(reader, path)
    assert sentence
    assert len(sentence) < SENTENCE
    assert "\n" not in sentence.strip()
    assert time.process_time() - started < 10


@pytest.mark.long
@pytest.mark.parametrize(
    ("reader", "name"), [(reader, name) for reader in FILES for name in FILES[reader][0]]
)
def test_within_limits(reader: str, name: str, tmp_path: Path) -> None:
    files, ending = FILES[reader]
    outcome = limited(reader, _written(files[name], ending, tmp_path), 120 if reader == "code" else 60)
    assert outcome.ended in (("read", "refused") if name in WHOLE else ("refused",)), outcome.message
    assert len(outcome.message) < SENTENCE
