"""Texture tables of launch descriptions, `[textures.NAME]`, and what makes a texture of a job sound."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np

from warpbank.program.contents import read_type, type_name
from warpbank.program.cuda.names import find
from warpbank.program.launch import Border, Job, Texture
from warpbank.program.ptx.ast import Module
from warpbank.program.toml_table import Table

#: What every CUDA device allows of textures on linear memory: texels of a 1D one; columns, rows and pitch in
#: bytes of a 2D one.
MAX_WIDTH_1D = 1 << 27
MAX_WIDTH, MAX_HEIGHT, MAX_PITCH = 131072, 65000, 2097120
#: Types that an element may have.
_ELEMENTS = tuple(np.dtype(kind) for kind in ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4"))
_READS = {"element": False, "normalized": True}


def read_textures(top: Table, buffers: Mapping[str, np.ndarray], module: Module) -> dict[str, Texture]:
    """The textures of a launch description, by the names that the PTX has.

    Parameters
    ----------
    top : the whole description.
    buffers : its buffers.
    module : the PTX, whose `.texref` variables may be named as the source has them.
    """
    group = top.table("textures")
    variables = texture_variables(module)
    textures: dict[str, Texture] = {}
    for name, values in group.values.items() if group else ():
        assert group is not None
        table = group.child(name, values)
        found = find(name, variables) or [name]
        if len(found) > 1 or found[0] in textures:
            table.fail("", f"may mean any of {', '.join(found)}; write one of them in full")
        textures[found[0]] = _read(table, buffers)
    return textures


def texture_variables(module: Module) -> list[str]:
    """Names of the `.texref` variables of a module."""
    return [v.name for v in module.variables.values() if v.type == "texref"]


def _read(table: Table, buffers: Mapping[str, np.ndarray]) -> Texture:
    """One table. What is left out comes from the buffer."""
    buffer = table.take("buffer", (str,), required=True)
    if buffer not in buffers:
        table.fail("buffer", _no_buffer(buffer, buffers))
    dtype = read_type(table, required=False) or buffers[buffer].dtype
    channels = table.take("channels", (int,), 1)
    width, height = table.take("width", (int,)), table.take("height", (int,))
    pitch, offset = table.take("pitch", (int,)), table.take("offset", (int,), 0)
    address = table.take("address", (str, list), "border" if height is None else "clamp")
    normalized = table.take("normalized", (bool,), False)
    read = _word(table, "read", table.take("read", (str,), "element"), list(_READS))
    kind = table.take("filter", (str,), "point")
    table.done()
    if kind == "linear":
        table.fail(
            "filter", 'linear filtering is not supported: write "point", and interpolate in the kernel'
        )
    _word(table, "filter", kind, ["point"])
    given = address if isinstance(address, list) else [address, address]
    if len(given) not in (1, 2):
        table.fail("address", f"must be a word or a list of two, for x and y, not {address!r}")
    borders = [Border(_word(table, "address", word, [str(b) for b in Border])) for word in given]
    texel = dtype.itemsize * channels if channels > 0 else 1
    if height is None:
        if pitch is not None:
            table.fail("pitch", "is the distance of two rows, and without 'height' there is one row")
        if width is None:
            width = max(buffers[buffer].nbytes - offset, 0) // texel
    elif width is None:
        table.fail("", "the key 'width' is missing, which a texture with 'height' needs")
    elif height < 1:
        table.fail("height", f"must be at least 1, and is {height}; leave it out for one dimension")
    return Texture(
        buffer,
        dtype,
        channels,
        width,
        height or 0,
        (width * texel if pitch is None else pitch) if height else 0,
        offset,
        (borders[0], borders[-1]),
        normalized,
        _READS[read],
    )


def _word(table: Table, key: str, value: Any, words: list[str]) -> str:
    """A value that is one of a few words."""
    if not isinstance(value, str) or value not in words:
        close = get_close_matches(str(value), words, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        table.fail(key, f"must be {' or '.join(repr(w) for w in words)}, not {value!r}{hint}")
    return value


def _no_buffer(name: str, buffers: Mapping[str, np.ndarray]) -> str:
    return f"there is no buffer {name!r}; the buffers are {', '.join(buffers) or 'none'}"


def unused_texture(job: Job, module: Module) -> str:
    """The first texture that no kernel can get at, and what there is; "" if there is none."""
    passed = {a for launch in job.launches for a in launch.args if isinstance(a, str)}
    variables = texture_variables(module)
    for name in job.textures:
        if name not in variables and name not in passed:
            known = ", ".join(variables) or "none"
            why = f"no launch passes it, and it is no .texref variable of the PTX; those are {known}"
            return f"textures.{name}: {why}"
    return ""


def texture_problem(job: Job) -> str:
    """The first thing about the textures of a job that cannot be; "" if they are sound."""
    for name, texture in job.textures.items():
        key, message = _problem(texture, job.buffers)
        if not message and name in job.buffers:
            message = "a buffer has this name too, and an argument could not tell them apart"
        if message:
            return f"textures.{name}{key and '.' + key}: {message}"
    return ""


def _problem(texture: Texture, buffers: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """The key that is wrong, and what is wrong with it; empty if nothing is."""
    if texture.buffer not in buffers:
        return "buffer", _no_buffer(texture.buffer, buffers)
    size = buffers[texture.buffer].nbytes
    texel = texture.texel_bytes
    if texture.dtype not in _ELEMENTS:
        return "type", (
            f"{type_name(texture.dtype)} cannot be an element; the types are "
            f"{', '.join(type_name(e) for e in _ELEMENTS)}"
        )
    if texture.channels not in (1, 2, 4):
        return "channels", f"must be 1, 2 or 4, and is {texture.channels}"
    if texture.fractions and (texture.dtype.kind == "f" or texture.dtype.itemsize == 4):
        return "read", f"normalized is for integers of 8 and 16 bits, not for {type_name(texture.dtype)}"
    if Border.WRAP in texture.borders and not texture.normalized:
        return "address", "wrap needs normalized coordinates; without them CUDA clamps: write clamp"
    two = texture.dimensions == 2
    for key, value, limit in (
        ("width", texture.width, MAX_WIDTH if two else MAX_WIDTH_1D),
        ("height", texture.height, MAX_HEIGHT if two else 0),
        ("pitch", texture.pitch, MAX_PITCH if two else 0),
    ):
        if not (limit > 0) <= value <= limit:
            return key, f"must be 1 to {limit}, and is {value}"
    if two and (texture.pitch < texture.width * texel or texture.pitch % texel):
        return "pitch", (
            f"must be a multiple of the {texel} bytes of a texel and at least the {texture.width * texel} of "
            f"a row, and is {texture.pitch}"
        )
    if texture.offset < 0 or texture.offset % texel:
        return "offset", f"must be a multiple of the {texel} bytes of a texel, and is {texture.offset}"
    if texture.end > size:
        return "", f"the texture ends at byte {texture.end}, but buffer {texture.buffer!r} has {size} bytes"
    return "", ""
