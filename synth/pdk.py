"""Cell libraries: the files a user gives, or those of an installed PDK, made ready for the tools."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from warpbank.synth.flow import Tools
from warpbank.synth.liberty import LibertyError, Library, parse

#: Names Liberty files, separated as in PATH, where `--liberty` does not.
VARIABLE = "WARPBANK_LIBERTY"
#: Where PDK managers (ciel, volare, open_pdks) put theirs, beside $PDK_ROOT.
_ROOTS = ("~/.ciel", "~/.volare", "/usr/local/share/pdk", "/usr/share/pdk")
#: A typical corner of each open PDK, from its root.
_TYPICAL = (
    "sky130A/libs.ref/sky130_fd_sc_hd/lib/sky130_fd_sc_hd__tt_025C_1v80.lib",
    "ihp-sg13g2/libs.ref/sg13g2_stdcell/lib/sg13g2_stdcell_typ_1p20V_25C.lib",
    "gf180mcuD/libs.ref/gf180mcu_fd_sc_mcu7t5v0/lib/gf180mcu_fd_sc_mcu7t5v0__tt_025C_5v00.lib",
)


def find(given: Sequence[str] | None) -> list[Path]:
    """Liberty files to use: those given, else those of $WARPBANK_LIBERTY, else an installed PDK's; [] if
    there is none.

    `none` given means none. Raises LibertyError for a file that is not there.
    """
    if given:
        return [] if list(given) == ["none"] else [_there(Path(name)) for name in given]
    if os.environ.get(VARIABLE):
        return [_there(Path(name)) for name in os.environ[VARIABLE].split(os.pathsep) if name]
    roots = [os.environ["PDK_ROOT"]] if os.environ.get("PDK_ROOT") else []
    for root in (*roots, *_ROOTS):
        for name in _TYPICAL:
            path = Path(root).expanduser() / name
            if os.path.exists(path):
                return [path]
    return []


def _there(path: Path) -> Path:
    if not os.path.isfile(path):
        raise LibertyError(
            f"there is no Liberty file {path}; give the .lib or .lib.gz of a cell library, or `--liberty "
            "none`"
        )
    return path


def load(files: Sequence[Path], folder: Path) -> Tools:
    """Read the files, and write them as plain text into `folder` for Yosys. Raises LibertyError."""
    texts = tuple((path.name, _text(path)) for path in files)
    names = tuple(f"cells{number}.lib" for number in range(len(files)))
    for name, (_, text) in zip(names, texts, strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    return Tools(_library(texts), tuple(Path(name) for name in names))


@lru_cache(maxsize=2)
def _library(texts: tuple[tuple[str, str], ...]) -> Library:
    """The library in these files, name and text; read once, however many units are mapped to it."""
    if not texts:
        raise LibertyError(f"a cell library is needed: name one with `--liberty FILE` or in ${VARIABLE}")
    library = Library([parse(text, name) for name, text in texts])
    # Asked for here, so that a library that the flow cannot use is refused before the work.
    _ = library.flop, library.nand2, library.inverter, library.buffers, library.wire(1)
    return library


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise LibertyError(f"{path.name} cannot be read ({error}); fetch the library again") from None


def name(files: Sequence[Path]) -> str:
    """Name of the library in the first file."""
    return _library(tuple((path.name, _text(path)) for path in files)).name


def digest(files: Sequence[Path]) -> str:
    """Short hash of what the files hold, so that a result says which library made it."""
    total = hashlib.sha256()
    for path in files:
        total.update(_text(path).encode())
    return total.hexdigest()[:12]
