"""Texture bindings: what the code of a kernel may know of the textures that its launches give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warpbank.program.isa import TEXTURE_WINDOW
from warpbank.program.launch import Job, Texture

#: Bytes from one texture's handle to the next; no memory lies there, so an access through one faults.
_STEP = 16


@dataclass(frozen=True)
class Bindings:
    """Bindings of the textures that one kernel of a job may read.

    Parameters
    ----------
    textures : those of the job, by name: that of a `.texref` variable of the PTX, or any other for a texture
        that is passed as an object.
    passed : for each parameter of the kernel, the textures that its launches give it, and "" for anything
        else.
    """

    textures: Mapping[str, Texture] = field(default_factory=dict)
    passed: tuple[tuple[str, ...], ...] = ()

    def handle(self, name: str) -> int:
        """The 64-bit number that stands for a texture; never 0."""
        return handle(self.textures, name)


#: Bindings of a kernel that is given no texture.
NO_TEXTURES = Bindings()


def handle(textures: Mapping[str, Texture], name: str) -> int:
    """The 64-bit number that stands for one of a job's textures: its place among them, in a window of its
    own."""
    return TEXTURE_WINDOW + _STEP * (1 + list(textures).index(name))


def bindings(job: Job, entry: str) -> Bindings:
    """The bindings that the launches of one kernel of a job make."""
    columns: list[dict[str, None]] = []
    for launch in job.launches:
        if launch.entry == entry:
            columns = columns or [{} for _ in launch.args]
            for column, argument in zip(columns, launch.args, strict=False):
                texture = isinstance(argument, str) and argument in job.textures
                column[str(argument) if texture else ""] = None
    return Bindings(job.textures, tuple(tuple(column) for column in columns))
