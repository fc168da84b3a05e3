"""Textures on linear memory against a reference in numpy: types, channels, addressing modes, objects."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import floor
from typing import Any

import numpy as np
import pytest

from tests.program.semantics.bench import HEAD, OPTIONS
from warpbank.program.errors import ExecutionError, LaunchError, PtxError
from warpbank.program.isa import Op, Space
from warpbank.program.launch import Argument, Border, Job, Launch, Texture
from warpbank.program.lowering import lower
from warpbank.program.options import CodeOrder, ConstantPlace
from warpbank.program.ptx.parser import parse
from warpbank.program.runner import Options, compile_job, execute, job_key
from warpbank.program.textures import bindings

THREADS = 64
WIDTH, HEIGHT = 12, 7
ELEMENTS = ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4")


def _image(dtype: np.dtype, seed: int = 3) -> np.ndarray:
    """An image of 1 KiB of random elements, all of them finite."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        return rng.normal(0, 100, 1024 // dtype.itemsize).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, 1024 // dtype.itemsize, dtype, endpoint=True)


def _kernel(dimensions: int, result: str, kind: str, texture: str = "image", guard: str = "") -> str:
    """Every thread reads the texel at the coordinates that `at` has for it, into four words of `out`."""
    coordinates = "{%c1, %c2}" if dimensions == 2 else "{%c1}"
    register = ".f32" if kind == "f32" else ".b32"
    return f"""{HEAD}
.global .texref image;
.visible .entry k(.param .u64 at, .param .u64 out, .param .u64 object) {{
.reg .b64 %at, %out, %o, %t, %u; .reg {register} %c<3>; .reg .b32 %d<5>, %i, %w; .reg .pred %p, %q;
ld.param.u64 %at, [at]; ld.param.u64 %out, [out]; ld.param.u64 %o, [object];
mov.u32 %i, %tid.x; mul.wide.u32 %t, %i, 8; add.s64 %at, %at, %t; mul.wide.u32 %u, %i, 16;
add.s64 %out, %out, %u; ld.global.v2.b32 {{%c1, %c2}}, [%at]; and.b32 %w, %i, 1; setp.eq.u32 %q, %w, 0;
mov.b32 %d1, 77; mov.b32 %d2, 77; mov.b32 %d3, 77; mov.b32 %d4, 77;
{guard} tex.{dimensions}d.v4.{result}.{kind} {{%d1, %d2, %d3, %d4}}, [{texture}, {coordinates}];
st.global.v4.b32 [%out], {{%d1, %d2, %d3, %d4}}; ret; }}
"""


def _job(text: str, image: np.ndarray, at: np.ndarray, textures: dict[str, Texture], given: Argument) -> Job:
    buffers = {"at": at, "out": np.zeros((THREADS, 4), np.uint32), "image_data": image}
    launch = Launch("k", (1, 1, 1), (THREADS, 1, 1), ("at", "out", given))
    return Job("texture", "custom", text, "texture.ptx", buffers, [launch], textures=textures)


def _index(x: float, size: int, border: Border, normalized: bool) -> int | None:
    """Column or row of a coordinate; None beyond a border of zeros."""
    if normalized:
        x = np.float32(x) - np.float32(floor(x)) if border is Border.WRAP else x
        x = float(np.float32(x) * np.float32(size))
    index = floor(x)
    if border is Border.ZERO:
        return index if 0 <= index < size else None
    return min(max(index, 0), size - 1)


def _reference(texture: Texture, image: np.ndarray, at: np.ndarray) -> np.ndarray:
    """What tex gives to every thread, as bits."""
    raw = image.tobytes()
    found = np.zeros((len(at), 4), np.uint32)
    for i, (x, y) in enumerate(at.tolist()):
        column = _index(x, texture.width, texture.borders[0], texture.normalized)
        row = _index(y, texture.height, texture.borders[1], texture.normalized) if texture.height else 0
        if column is None or row is None:
            continue
        start = texture.offset + row * texture.pitch + column * texture.texel_bytes
        texel = np.frombuffer(raw[start : start + texture.texel_bytes], texture.dtype)
        if texture.fractions:
            largest = np.float32(np.iinfo(texture.dtype).max)
            values = np.maximum(texel.astype(np.float32) * (np.float32(1) / largest), np.float32(-1))
        elif texture.dtype.kind == "f":
            values = texel.astype(np.float32)
        else:
            values = texel.astype(np.int32 if texture.dtype.kind == "i" else np.uint32)
        found[i, : texture.channels] = values.view(np.uint32)
    return found


def _whole(seed: int) -> np.ndarray:
    """Integer coordinates inside and outside of the texture, the extremes included."""
    at = np.random.default_rng(seed).integers(-4, WIDTH + 4, (THREADS, 2)).astype(np.int32)
    at[:4] = [[-(2**31), 2**31 - 1], [2**31 - 1, -(2**31)], [0, 0], [WIDTH - 1, HEIGHT - 1]]
    return at


def _texture(dtype: np.dtype, channels: int, dimensions: int, border: Border) -> Texture:
    texel = dtype.itemsize * channels
    pitch = (WIDTH + 3) * texel if 7 * (WIDTH + 3) * texel + texel <= 1024 else WIDTH * texel
    height = min(HEIGHT, (1024 - texel) // pitch) if dimensions == 2 else 0
    return Texture(
        "image_data", dtype, channels, WIDTH, height, pitch if height else 0, texel, (border, border)
    )


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("name", ELEMENTS)
def test_every_type_and_number_of_channels(name: str, dimensions: int) -> None:
    """Integer coordinates, both addressing modes that they have."""
    dtype = np.dtype(name)
    image, at = _image(dtype), _whole(dimensions)
    result = {"f": "f32", "i": "s32", "u": "u32"}[dtype.kind]
    for channels, border in product((1, 2, 4), (Border.CLAMP, Border.ZERO)):
        texture = _texture(dtype, channels, dimensions, border)
        job = _job(_kernel(dimensions, result, "s32"), image, at, {"image": texture}, np.uint64(0))
        for options in OPTIONS:
            np.testing.assert_array_equal(
                execute(job, options).buffers["out"], _reference(texture, image, at)
            )


@pytest.mark.parametrize("name", ["u1", "i1", "u2", "i2"])
def test_fractions(name: str) -> None:
    dtype = np.dtype(name)
    image, at = _image(dtype), _whole(5)
    image[0::3] = np.iinfo(dtype).min
    image[1::3] = np.iinfo(dtype).max
    for channels in (1, 2, 4):
        texture = replace(_texture(dtype, channels, 2, Border.CLAMP), fractions=True)
        job = _job(_kernel(2, "f32", "s32"), image, at, {"image": texture}, np.uint64(0))
        out = execute(job).buffers["out"]
        np.testing.assert_array_equal(out, _reference(texture, image, at))
        shown = out[:, :channels].view(np.float32)
        assert shown.max() == 1.0
        assert shown.min() == (-1.0 if dtype.kind == "i" else 0.0)


@pytest.mark.parametrize(
    ("borders", "normalized"),
    [
        ((Border.CLAMP, Border.ZERO), False),
        ((Border.ZERO, Border.CLAMP), True),
        ((Border.WRAP, Border.ZERO), True),
        ((Border.WRAP, Border.WRAP), True),
    ],
)
def test_coordinates_that_are_fractions(borders: tuple[Border, Border], normalized: bool) -> None:
    rng = np.random.default_rng(6)
    at = rng.uniform(-1.5 if normalized else -3, 2.5 if normalized else 15, (THREADS, 2)).astype(np.float32)
    at[:5] = [[0, 0], [1, 1], [-0.0, 0.999999], [-1e-9, 1e-9], [1e30, -1e30]]
    image = _image(np.dtype("f4"))
    texture = replace(_texture(image.dtype, 2, 2, Border.CLAMP), borders=borders, normalized=normalized)
    job = _job(_kernel(2, "f32", "f32"), image, at, {"image": texture}, np.uint64(0))
    for options in OPTIONS:
        np.testing.assert_array_equal(execute(job, options).buffers["out"], _reference(texture, image, at))


def test_an_object_is_chosen_by_its_handle() -> None:
    """Three launches of one kernel, each with a texture of another type; and a guard."""
    image, at = _image(np.dtype("u4")), _whole(7)
    textures = {
        name: replace(_texture(np.dtype(kind), channels, 2, border), offset=16)
        for name, kind, channels, border in (
            ("bytes", "u1", 4, Border.CLAMP),
            ("words", "u4", 1, Border.ZERO),
            ("halves", "u2", 2, Border.CLAMP),
        )
    }
    text = _kernel(2, "u32", "s32", "%o", "@%q")
    for name, texture in textures.items():
        job = _job(text, image, at, textures, "bytes")
        others = [replace(job.launches[0], args=("at", "out", other)) for other in textures if other != name]
        job.launches = [*others, replace(job.launches[0], args=("at", "out", name))]
        wanted = _reference(texture, image, at)
        wanted[1::2] = 77
        for options in OPTIONS:
            np.testing.assert_array_equal(execute(job, options).buffers["out"], wanted)


@pytest.mark.parametrize(
    "options", [Options(constants=ConstantPlace.REGISTERS), Options(code_order=CodeOrder.SOURCE)]
)
def test_options_of_the_compiler(options: Options) -> None:
    """Addresses of textures as registers, and code in the order of the PTX."""
    image, at = _image(np.dtype("i2")), _whole(12)
    texture = _texture(image.dtype, 2, 2, Border.CLAMP)
    job = _job(_kernel(2, "s32", "s32"), image, at, {"image": texture}, np.uint64(0))
    found = execute(job, options).buffers["out"]
    np.testing.assert_array_equal(found, _reference(texture, image, at))


def test_one_object_needs_no_comparison() -> None:
    """A parameter that every launch gives one texture is as good as a variable."""
    image, at = _image(np.dtype("f4")), _whole(8)
    texture = _texture(image.dtype, 1, 1, Border.CLAMP)
    counts = []
    for operand, textures, given in (
        ("image", {"image": texture}, np.uint64(0)),
        ("%o", {"object": texture}, "object"),
    ):
        (kernel,) = compile_job(_job(_kernel(1, "f32", "s32", operand), image, at, textures, given)).values()
        counts.append(len(kernel.instructions()))
    assert counts[0] == counts[1]


def _compares(text: str, given: Argument = "object") -> bool:
    """Whether a kernel that is always given one texture compares its handle; the others are never passed."""
    image, at = _image(np.dtype("f4")), _whole(8)
    texture = _texture(image.dtype, 1, 1, Border.CLAMP)
    (kernel,) = compile_job(_job(text, image, at, {"object": texture, "other": texture}, given)).values()
    return any(i.op is Op.TRAP for i in kernel.instructions())


def test_a_handle_is_followed_through_copies() -> None:
    """A register that is written once, by a load of the whole parameter or a copy of such a register."""
    plain = _kernel(1, "f32", "s32", "%o")
    assert not _compares(plain)
    for copies, known in ((7, True), (8, False)):
        moves = "".join(f"mov.u64 %o{i + 1}, %o{i};" for i in range(copies))
        text = plain.replace("[%o, ", f"[%o{copies}, ").replace(
            "mov.b32 %d1, 77;", f"{moves} mov.b32 %d1, 77;"
        )
        text = text.replace("%at, %out, %o,", f"%at, %out, %o<{copies + 1}>,").replace(
            "u64 %o, [", "u64 %o0, ["
        )
        assert _compares(text) != known
    load = "ld.param.u64 %o, [object];"
    assert load in plain
    guarded = plain.replace(load, "").replace("mov.b32 %d1, 77;", f"@%q {load} mov.b32 %d1, 77;")
    assert _compares(guarded)
    assert _compares(plain.replace(load, load + " @%q mov.u64 %o, 0;"))
    function = ".func (.reg .b64 r) one(.reg .b64 a) { add.s64 r, a, 1; ret; }"
    for result, known in (("%u", True), ("%o", False)):
        called = plain.replace(load, f"{load} call ({result}), one, (%at);")
        called = called.replace(".global .texref", f"{function}\n.global .texref")
        assert _compares(called) != known
    half = plain.replace(".param .u64 object", ".param .align 8 .b8 object[16]").replace(
        "[object]", "[object+8]"
    )
    assert _compares(half, bytes(16))


@pytest.mark.parametrize(
    ("name", "channels", "steps"), [("u1", 1, 0), ("i2", 1, 0), ("u4", 4, 0), ("u4", 1, 0), ("u2", 2, 2)]
)
def test_what_is_loaded_as_it_is_needs_no_extraction(name: str, channels: int, steps: int) -> None:
    texture = _texture(np.dtype(name), channels, 1, Border.CLAMP)
    text = _kernel(1, "u32", "s32")
    job = _job(text, _image(texture.dtype), _whole(8), {"image": texture}, np.uint64(0))
    module = parse(text, "k.ptx")
    kernel = lower(module, "k", optimize=False, textures=bindings(job, "k"))
    assert sum(i.op is Op.BFE for i in kernel.instructions()) == steps


@pytest.mark.parametrize("result", ["u32", "s32", "f32"])
def test_words_are_read_as_any_type(result: str) -> None:
    image, at = _image(np.dtype("f4")), _whole(8)
    texture = _texture(image.dtype, 1, 1, Border.CLAMP)
    job = _job(_kernel(1, result, "s32"), image, at, {"image": texture}, np.uint64(0))
    np.testing.assert_array_equal(execute(job).buffers["out"], _reference(texture, image, at))


def test_the_handle_of_a_variable() -> None:
    """mov takes it; a choice between two handles is a chain of comparisons."""
    image, at = _image(np.dtype("u4")), _whole(9)
    texture, other = _texture(image.dtype, 1, 1, Border.CLAMP), _texture(image.dtype, 1, 1, Border.ZERO)
    text = _kernel(1, "u32", "s32", "%o").replace(
        "mov.b32 %d1, 77;", "mov.u64 %t, image; selp.b64 %o, %t, %o, %q; mov.b32 %d1, 77;"
    )
    job = _job(text, image, at, {"image": texture, "other": other}, "other")
    wanted = _reference(texture, image, at)
    wanted[1::2] = _reference(other, image, at)[1::2]
    for options in OPTIONS:
        np.testing.assert_array_equal(execute(job, options).buffers["out"], wanted)


def test_a_number_that_is_no_handle_is_a_trap() -> None:
    image, at = _image(np.dtype("u4")), _whole(9)
    text = _kernel(1, "u32", "s32", "%o").replace("mov.b32 %d1, 77;", "add.s64 %o, %o, 1; mov.b32 %d1, 77;")
    texture = _texture(image.dtype, 1, 1, Border.CLAMP)
    with pytest.raises(ExecutionError, match="trapped"):
        execute(_job(text, image, at, {"object": texture}, "object"))


def test_a_parameter_that_is_a_texref() -> None:
    image, at = _image(np.dtype("u4")), _whole(10)
    text = _kernel(1, "u32", "s32", "object").replace(".param .u64 object", ".param .texref object")
    text = text.replace("ld.param.u64 %o, [object];", "")
    texture = _texture(image.dtype, 1, 1, Border.CLAMP)
    job = _job(text, image, at, {"mine": texture}, "mine")
    np.testing.assert_array_equal(execute(job).buffers["out"], _reference(texture, image, at))
    with pytest.raises(LaunchError, match=r"takes the name of a texture; the textures are mine"):
        execute(_job(text, image, at, {"mine": texture}, "image_data"))


def test_a_texture_of_old_files() -> None:
    """PTX 1.x: `.tex .u32`, and coordinates of four elements."""
    image, at = _image(np.dtype("f4")), _whole(11)
    text = _kernel(1, "f32", "s32").replace(".global .texref image;", ".tex .u32 image;")
    text = text.replace("[image, {%c1}]", "[image, {%c1, %c2, %c2, %c2}]")
    texture = _texture(image.dtype, 4, 1, Border.ZERO)
    job = _job(text, image, at, {"image": texture}, np.uint64(0))
    np.testing.assert_array_equal(execute(job).buffers["out"], _reference(texture, image, at))


def _sized(body: str, threads: int, words: int) -> Job:
    """Threads that ask for the sizes of `image` and write words at %o; %r1 is the thread's number."""
    text = HEAD + (
        ".global .texref image;\n.visible .entry k(.param .u64 out) { .reg .b64 %o, %t; .reg .b32 %r<5>;\n"
        f".reg .pred %p; ld.param.u64 %o, [out]; mov.u32 %r1, %tid.x;\n{body} ret; }}"
    )
    buffers = {"out": np.zeros(words, np.uint32), "image_data": _image(np.dtype("u1"))}
    texture = _texture(np.dtype("u1"), 4, 2, Border.CLAMP)
    launch = Launch("k", (1, 1, 1), (threads, 1, 1), ("out",))
    return Job("k", "custom", text, "k.ptx", buffers, [launch], textures={"image": texture})


def test_sizes_can_be_asked_for() -> None:
    body = "txq.width.b32 %r2, [image]; txq.height.b32 %r3, [image]; st.global.v2.b32 [%o], {%r2, %r3};"
    assert execute(_sized(body, 1, 2)).buffers["out"].tolist() == [WIDTH, HEIGHT]


def test_sizes_are_asked_for_under_a_guard() -> None:
    body = (
        "setp.lt.u32 %p, %r1, 2; mov.u32 %r2, 77; @%p txq.width.b32 %r2, [image];\n"
        "mul.wide.u32 %t, %r1, 4; add.s64 %o, %o, %t; st.global.b32 [%o], %r2;"
    )
    for options in OPTIONS:
        assert execute(_sized(body, 4, 4), options).buffers["out"].tolist() == [WIDTH, WIDTH, 77, 77]


def test_a_texel_is_one_load_of_global_memory() -> None:
    """The trace has the lines that the texels lie in, and none for lanes beyond a border of zeros."""
    image = np.arange(4096, dtype=np.float32)
    at = np.zeros((THREADS, 2), np.int32)
    at[:, 0] = 64 * np.arange(THREADS)
    texture = Texture("image_data", image.dtype, 4, 1024, borders=(Border.ZERO, Border.ZERO))
    job = _job(_kernel(1, "f32", "s32"), image, at, {"image": texture}, np.uint64(0))
    (kernel,) = compile_job(job).values()
    loads = [i for i in kernel.instructions() if i.op is Op.LD and i.space is Space.GLOBAL and i.size == 16]
    assert len(loads) == 1
    trace = execute(job, OPTIONS[1], trace=True).trace
    assert trace is not None
    code = trace.code[trace.dynamic["pc"]]
    reads = trace.dynamic[(code["size"] == 16) & (code["opcode"] == Op.LD)]
    assert reads["line_count"].tolist() == [16, 0]  # 16 of the 64 texels are inside, a KiB apart
    assert [int(mask).bit_count() for mask in reads["mask"]] == [16, 0]


@pytest.mark.parametrize(
    ("change", "kernel", "message"),
    [
        ({}, ("f32", "s32", 1), "texture 'image' has 2 dimensions, not 1"),
        ({}, ("f32", "s32", 2), r"texture 'image' holds u8: it gives \.s32 or \.u32, not \.f32"),
        ({"fractions": True}, ("u32", "s32", 2), r"read as fractions: it gives \.f32"),
        ({"normalized": True}, ("u32", "s32", 2), r"normalized coordinates: they are \.f32, not \.s32"),
    ],
)
def test_what_does_not_fit(change: dict[str, Any], kernel: tuple[str, str, int], message: str) -> None:
    texture = replace(_texture(np.dtype("u1"), 1, 2, Border.CLAMP), **change)
    result, kind, dimensions = kernel
    text = _kernel(dimensions, result, kind)
    with pytest.raises(PtxError, match=message):
        execute(_job(text, _image(np.dtype("u1")), _whole(1), {"image": texture}, np.uint64(0)))


def test_a_texture_is_part_of_a_trace_s_identity() -> None:
    image, at = _image(np.dtype("u1")), _whole(1)
    texture = _texture(np.dtype("u1"), 1, 2, Border.CLAMP)
    options = OPTIONS[1]
    keys = {
        job_key(_job(_kernel(2, "u32", "s32"), image, at, {"image": t}, np.uint64(0)), options)
        for t in (texture, replace(texture, borders=(Border.ZERO, Border.CLAMP)), replace(texture, width=5))
    }
    assert len(keys) == 3
