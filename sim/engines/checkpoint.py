"""Checkpoint of a long run on the golden model: a file from which the run goes on after it was killed.

The file holds the state of the machine between two cycles (`warpbank.sim.engines.state`) and what the run
is: trace, machine, scheme, code. It is written beside its place and renamed when it is whole and on the disk,
so that a kill at any time leaves the checkpoint before it. A file that is damaged, of another experiment, or
that somebody else may have written is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from warpbank.arch.config import config_hash
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.sm import Sm
from warpbank.program import runner, trust
from warpbank.program.cache import behind_links, whole
from warpbank.program.trace.schema import Trace
from warpbank.sim import extensions
from warpbank.sim.engines import state
from warpbank.sim.errors import CheckpointError
from warpbank.sim.output import check_file

#: Seconds between two writes.
SECONDS = 60.0
#: Most of them: eleven days.
MOST_SECONDS = 1_000_000
#: First words of every file, and of those of this version; a digest of all that follows the line is next.
_MAGIC = b"warpbank checkpoint "
_VERSION = _MAGIC + b"1 "
_RESTART = "remove it, and the run starts from its beginning"


class Checkpoint:
    """File that keeps the state of one run.

    Parameters
    ----------
    path : of the file, or of a link to it. One that is there is where the run goes on.
    every : seconds between two writes.

    Attributes
    ----------
    resumed : first cycle that this process runs; 0: the run starts from its beginning.

    Raises
    ------
    OutputError : the file could not be written.
    """

    def __init__(self, path: Path, every: float = SECONDS) -> None:
        check_file(path)
        self.path = path
        self.resumed = 0
        self._every = every
        self._due = 0.0
        self._experiment: dict[str, str] = {}
        self._warned = False

    def begin(self, machine: Sm, experiment: dict[str, str]) -> None:
        """Put the state of the file, if there is one, into a machine that was just made for this experiment.

        Raises CheckpointError that says why the file is refused.
        """
        self._experiment = experiment
        content = self._read()
        if content is not None:
            cycle, machine_state = self._checked(content)
            try:
                state.load(machine, machine_state)
            except Exception as error:  # whatever a pickle that does not fit may raise
                raise CheckpointError(
                    f"the checkpoint {self.path} cannot be read ({type(error).__name__}: {error}); {_RESTART}"
                ) from None
            self.resumed = cycle
        self._due = time.monotonic() + self._every

    def keep(self, machine: Sm) -> None:
        """Write the state of a machine that is between two cycles, if it is time. A file that cannot be
        written is a warning: the run goes on."""
        if time.monotonic() < self._due:
            return
        try:
            self._write(machine)
        except OSError as error:
            if not self._warned:
                warnings.warn(f"the checkpoint {self.path} cannot be written: {error}", stacklevel=2)
            self._warned = True
        self._due = time.monotonic() + self._every

    def end(self) -> None:
        """Remove the file: the run is over. A link to it stays."""
        behind_links(self.path).unlink(missing_ok=True)

    def _write(self, machine: Sm) -> None:
        header = {"experiment": self._experiment, "cycle": machine.cycle + 1}
        content = json.dumps(header).encode() + b"\n" + state.dump(machine)
        digest = hashlib.sha256(content).hexdigest().encode()
        place = behind_links(self.path)
        temporary = place.with_name(f".{place.name}.part")
        temporary.unlink(missing_ok=True)  # of a process that was killed
        with whole(place, temporary):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(_VERSION + digest + b"\n" + content)
                file.flush()
                os.fsync(descriptor)
        folder = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name, too, is on the disk
        finally:
            os.close(folder)

    def _read(self) -> bytes | None:
        """Content of the file behind its first line; None if there is no file.

        Who may have written it is asked of the open file, which nobody can exchange for another.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckpointError(f"the checkpoint {self.path} cannot be read: {error.strerror}") from None
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise CheckpointError(f"the checkpoint {self.path} is no file; name a file")
            why = trust.doubt_of(self.path, found, "name a file of your own")
            if why:
                raise CheckpointError(f"a checkpoint that is not yours alone is not read: {why}")
            first = file.readline(len(_VERSION) + 65)
            if not first.startswith(_MAGIC):
                raise CheckpointError(f"{self.path} is no checkpoint of Warpbank; name another file")
            if not first.startswith(_VERSION):
                raise CheckpointError(
                    f"{self.path} is a checkpoint of another version of Warpbank; {_RESTART}"
                )
            content = file.read()
        if first != _VERSION + hashlib.sha256(content).hexdigest().encode() + b"\n":
            raise CheckpointError(f"the checkpoint {self.path} is damaged; {_RESTART}")
        return content

    def _checked(self, content: bytes) -> tuple[int, bytes]:
        """Cycle and state of a file's content, which must be of this experiment."""
        text, _, machine_state = content.partition(b"\n")
        header: dict[str, Any] = json.loads(text)
        for name, wanted in self._experiment.items():
            found = header["experiment"].get(name, "")
            if found != wanted:
                raise CheckpointError(
                    f"the checkpoint {self.path} is of another experiment, whose {name} is {found or 'none'} "
                    f"and not {wanted or 'none'}; name another file, or {_RESTART}"
                )
        return header["cycle"], machine_state


def experiment_of(
    trace: Trace, config: SmConfig, scheme: Scheme, check_operands: bool, model: str
) -> dict[str, str]:
    """Description of a run: all that its result and its state depend on, by the names that a refusal uses.

    Parameters
    ----------
    trace : with the hints of the scheme.
    config, scheme : the machine and its register file.
    check_operands : whether operands are checked.
    model : form of the golden model; each has attributes of its own.
    """
    return {
        "kernel": f"{trace.meta.get('job') or trace.meta.get('name')} ({trace.meta.get('size')})",
        "scheme": scheme.name,
        "machine": f"{config.preset}, configuration {config_hash(config)}",
        "trace": f"{trace.meta.get('key')}, code {_static(trace)}",
        "check of operands": "on" if check_operands else "off",
        "model": model,
        "version of the code": runner.code_digest(
            "warpbank.arch", "warpbank.golden", __name__, state.__name__
        )[:16],
        "extensions": extensions.digest(),
        "Python": f"{platform.python_version()} with numpy {np.__version__}",
    }


def _static(trace: Trace) -> str:
    """Digest of what compiler passes make of a trace: its code and hints. What was executed has its key."""
    digest = hashlib.sha256(np.ascontiguousarray(trace.code).tobytes())
    digest.update(np.ascontiguousarray(trace.launches).tobytes())
    if trace.hints is not None:
        for name, array in sorted(vars(trace.hints).items()):
            digest.update(name.encode() + np.ascontiguousarray(array).tobytes())
    rest = (trace.flag_words, trace.exempt, trace.working_sets, len(trace.dynamic), len(trace.warps))
    digest.update(repr(rest).encode())
    return digest.hexdigest()[:16]
