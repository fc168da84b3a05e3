"""Launch descriptions: the example, every key, and every mistake with its message."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from warpbank import workloads
from warpbank.program.description import check_job, load_job
from warpbank.program.errors import LaunchError, PtxError
from warpbank.program.launch import Border, Expected, Job, Launch, Pointer, Texture
from warpbank.program.ptx.parser import parse

ROOT = Path(__file__).parents[2]
SAXPY = ROOT / "examples" / "saxpy" / "saxpy.ptx"

PTX = """\
.version 7.8
.target sm_75
.address_size 64
.const .align 4 .b8 weights[16];
.shared .b32 tile;
.visible .entry k(.param .u64 p, .param .u32 n, .param .f32 a, .param .align 4 .b8 s[12],
.param .b32 b) .maxntid 256 { ret; }
.visible .entry bare() .reqntid 32, 2 { ret; }
"""
BUFFERS = '[buffers.x]\ntype = "f32"\nshape = 4\n'
ARGS = 'args = ["x", 3, 1.5, { bytes = "00 01 02 03 04 05 06 07 08 09 0a 0b" }, { f32 = 2.0 }]\n'
LAUNCH = f'[[launch]]\nentry = "k"\ngrid = 1\nblock = 32\n{ARGS}'
BARE = '[[launch]]\nentry = "bare"\ngrid = 1\nblock = [32, 2]\n'


@pytest.fixture
def load(tmp_path: Path):
    """Loads a description for PTX, both written to a fresh folder."""

    def loader(description: str, ptx: str = PTX) -> Job:
        (tmp_path / "k.ptx").write_text(ptx)
        (tmp_path / "k.toml").write_text(description)
        return load_job(tmp_path / "k.ptx")

    loader.folder = tmp_path  # type: ignore[attr-defined]
    return loader


def test_the_example() -> None:
    job = load_job(SAXPY)
    assert (job.name, job.ptx, job.ptx_path) == ("saxpy", SAXPY.read_text(), str(SAXPY))
    assert job.launches == [
        Launch("saxpy", (2, 1, 1), (128, 1, 1), ("x", "y", np.float32(2.0), np.uint32(1000)))
    ]
    assert job.expected["y"].rtol == 1e-6
    np.testing.assert_array_equal(job.expected["y"].value, 2 * job.buffers["x"] + job.buffers["y"])


def test_the_page_shows_the_example() -> None:
    shown = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "launch.md").read_text(), re.DOTALL)
    assert shown
    assert shown.group(1) == SAXPY.with_suffix(".toml").read_text()
    assert tomllib.loads(shown.group(1))


def test_byte_order_marks(tmp_path: Path) -> None:
    """Editors of Windows put one before UTF-8."""
    for suffix in (".ptx", ".toml"):
        text = SAXPY.with_suffix(suffix).read_text()
        (tmp_path / f"marked{suffix}").write_text(text, encoding="utf-8-sig")
    marked, plain = load_job(tmp_path / "marked.ptx"), load_job(SAXPY)
    assert (marked.ptx, marked.launches) == (plain.ptx, plain.launches)


def test_another_description_and_another_name(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('name = "mine"\n' + SAXPY.with_suffix(".toml").read_text())
    assert load_job(SAXPY, other).name == "mine"


TEXTURES = """
[buffers.image]
type = "u8"
shape = 400
arange = true
[textures.t]
buffer = "image"
"""
READER = """\
.version 7.8
.target sm_75
.address_size 64
.global .texref _ZN5space7paletteE;
.visible .entry k(.param .u64 object, .param .f32 a) { ret; }
"""
READS = '[[launch]]\ngrid = 1\nblock = 32\nargs = ["t", 1.5]\n'


def test_textures(load) -> None:
    plain = load(TEXTURES + READS, READER).textures["t"]
    assert plain == Texture("image", np.dtype("u1"), 1, 400, borders=(Border.ZERO, Border.ZERO))
    keys = 'type = "s16"\nchannels = 2\nwidth = 5\nheight = 6\npitch = 32\noffset = 8\nnormalized = true\n'
    keys += 'address = ["wrap", "border"]\nread = "normalized"\nfilter = "point"\n'
    full = load(TEXTURES + keys + READS, READER).textures["t"]
    borders = (Border.WRAP, Border.ZERO)
    assert full == Texture("image", np.dtype("i2"), 2, 5, 6, 32, 8, borders, True, True)
    flat = load(TEXTURES + "width = 20\nheight = 10\n" + READS, READER).textures["t"]
    assert (flat.pitch, flat.borders) == (20, (Border.CLAMP, Border.CLAMP))
    named = load(TEXTURES.replace("textures.t", "textures.palette") + READS.replace('"t"', "7"), READER)
    assert list(named.textures) == ["_ZN5space7paletteE"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("chanels = 2", "did you mean 'channels'?"),
        ("channels = 3", r"textures\.t\.channels: must be 1, 2 or 4, and is 3"),
        ("channels = -1", r"textures\.t\.channels: must be 1, 2 or 4"),
        ('type = "f64"', r"textures\.t\.type: f64 cannot be an element; the types are u8, s8, u16"),
        ('filter = "linear"', "interpolate in the kernel"),
        ('filter = "cubic"', "must be 'point', not 'cubic'"),
        ('address = "clmap"', r"must be 'clamp' or 'border' or 'wrap', not 'clmap'; did you mean 'clamp'\?"),
        ('address = "wrap"', "without them CUDA clamps: write clamp"),
        ('address = ["clamp", "clamp", "clamp"]', "a list of two, for x and y"),
        ("address = [1]", "must be 'clamp' or 'border' or 'wrap', not 1"),
        ('read = "fraction"', "must be 'element' or 'normalized', not 'fraction'"),
        ('read = "normalized"\ntype = "f32"', "integers of 8 and 16 bits, not for f32"),
        ("width = 401", "the texture ends at byte 401, but buffer 'image' has 400 bytes"),
        ("width = 0", "width: must be 1 to 134217728, and is 0"),
        ("width = 1000000000000", "width: must be 1 to 134217728"),
        ("pitch = 8", "without 'height' there is one row"),
        ("height = 2", "the key 'width' is missing"),
        ("width = 8\nheight = 0", "height: must be at least 1"),
        ("width = 8\nheight = 70000", "height: must be 1 to 65000"),
        ("width = 200000\nheight = 1", "width: must be 1 to 131072"),
        ("width = 8\nheight = 2\npitch = 7", "at least the 8 of a row, and is 7"),
        ("width = 8\nheight = 2\npitch = 9000000", "pitch: must be 1 to 2097120"),
        ('type = "u16"\nwidth = 8\nheight = 2\npitch = 17', "a multiple of the 2 bytes of a texel"),
        ("offset = -1", "offset: must be a multiple of the 1 bytes of a texel, and is -1"),
        ("offset = 500", "width: must be 1 to"),
    ],
)
def test_mistakes_in_textures(load, keys: str, message: str) -> None:
    with pytest.raises(LaunchError, match=message) as caught:
        load(TEXTURES + keys + "\n" + READS, READER)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'buffer = "image"',
            'buffer = "imge"',
            r"textures\.t\.buffer: there is no buffer 'imge'; the buffers are image",
        ),
        ('buffer = "image"\n', "", "the key 'buffer' is missing"),
        ("[textures.t]", "[textures.image]", "a buffer has this name too"),
        (
            '"t", 1.5',
            "0, 1.5",
            "no launch passes it, and it is no .texref variable of the PTX; those are _ZN5space",
        ),
        ('"t", 1.5', '"t", "t"', "cannot take the handle of texture 't', an integer of 8 bytes"),
        ('"t", 1.5', '"s", 1.5', "there is no buffer 's'; the buffers are image, the textures t"),
    ],
)
def test_textures_that_fit_nothing(load, old: str, new: str, message: str) -> None:
    text = TEXTURES + READS
    assert old in text
    with pytest.raises(LaunchError, match=message):
        load(text.replace(old, new), READER)


def test_arguments(load) -> None:
    job = load(BUFFERS + LAUNCH + LAUNCH.replace('"x"', '"x+16"').replace("{ f32 = 2.0 }", "-1") + BARE)
    first, second, third = job.launches
    assert first.args == ("x", np.uint32(3), np.float32(1.5), bytes(range(12)), np.float32(2.0))
    assert [type(a) for a in first.args[1:3]] == [np.uint32, np.float32]
    assert second.args[0] == Pointer("x", 16)
    assert second.args[4] == np.uint32(0xFFFFFFFF)
    assert third == Launch("bare", (1, 1, 1), (32, 2, 1), ())


def test_launch_shapes_and_shared(load) -> None:
    ptx = PTX.split(".visible")[0] + ".entry only() { ret; }"
    (launch,) = load("[[launch]]\ngrid = [3, 4]\nblock = [8, 8, 4]\nshared = 512\n", ptx).launches
    assert launch == Launch("only", (3, 4, 1), (8, 8, 4), (), 512)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ('type = "u8"\nshape = 3', np.zeros(3, np.uint8)),
        ('type = "b64"\nshape = 3\nzeros = true', np.zeros(3, np.uint64)),
        ('type = "f16"\nshape = [2, 2]\nfill = 1.5', np.full((2, 2), 1.5, np.float16)),
        ('type = "s32"\nshape = 2\nfill = -7', np.array([-7, -7], np.int32)),
        ('type = "f64"\nshape = [2, 3]\narange = true', np.arange(6.0).reshape(2, 3)),
        ('type = "u8"\nshape = 4\narange = { start = 254, step = 1 }', np.array([254, 255, 0, 1], np.uint8)),
        ('type = "s16"\nshape = 3\narange = { step = -2 }', np.array([0, -2, -4], np.int16)),
        (
            'type = "f32"\nshape = 3\narange = { start = 0.5, step = 0.25 }',
            np.array([0.5, 0.75, 1], np.float32),
        ),
        ('type = "u64"\nvalues = [18446744073709551615, 0]', np.array([2**64 - 1, 0], np.uint64)),
        ('type = "s8"\nvalues = [[1, 2], [3, -128]]', np.array([[1, 2], [3, -128]], np.int8)),
        ('type = "s32"\nshape = [2, 2]\nvalues = [1, 2, 3, 4]', np.array([[1, 2], [3, 4]], np.int32)),
        ('type = "f32"\nvalues = [1, inf, -0.5]', np.array([1, np.inf, -0.5], np.float32)),
        (
            'type = "f32"\nshape = 5\nrandom = { distribution = "uniform", low = 2, high = 3, seed = 9 }',
            np.random.default_rng(9).uniform(2, 3, 5).astype(np.float32),
        ),
        (
            'type = "f64"\nshape = 5\nrandom = { distribution = "normal", mean = 1, std = 2 }',
            np.random.default_rng(0).normal(1, 2, 5),
        ),
        (
            'type = "u8"\nshape = 9\nrandom = { distribution = "integers", high = 256, seed = 1 }',
            np.random.default_rng(1).integers(0, 256, 9, dtype=np.uint8),
        ),
        (
            'type = "f32"\nshape = 9\nrandom = { distribution = "integers", low = -3, high = 4 }',
            np.random.default_rng(0).integers(-3, 4, 9).astype(np.float32),
        ),
    ],
)
def test_contents(load, keys: str, expected: np.ndarray) -> None:
    found = load(f"[buffers.b]\n{keys}\n{BARE}").buffers["b"]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_files(load) -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    np.save(load.folder / "a.npy", array)
    (load.folder / "a.bin").write_bytes(array.tobytes())
    job = load(
        '[buffers.a]\nfile = "a.npy"\n[buffers.b]\ntype = "s16"\nshape = [2, 3]\nfile = "a.bin"\n'
        '[buffers.c]\ntype = "s16"\nfile = "a.bin"\n[expected.b]\nfile = "a.npy"\n' + BARE
    )
    np.testing.assert_array_equal(job.buffers["a"], array)
    np.testing.assert_array_equal(job.buffers["b"], array)
    np.testing.assert_array_equal(job.buffers["c"], array.ravel())
    np.testing.assert_array_equal(job.expected["b"].value, array)


def test_symbols(load) -> None:
    job = load('[symbols.weights]\ntype = "f32"\nvalues = [1, 2, 3]\n' + BARE)
    np.testing.assert_array_equal(job.symbols["weights"], np.array([1, 2, 3], np.float32))


@pytest.mark.parametrize(
    ("description", "key", "parts"),
    [
        ("", "", ["'launch' is missing"]),
        ("lanch = 3\n", "", ["'launch' is missing", "'lanch'"]),
        ("launch = []\n", "launch", ["no launch", "[[launch]]"]),
        ("launch = 3\n", "launch", ["must be a list, not 3"]),
        ("launch = [3]\n", "launch[0]", ["must be a table, not 3"]),
        (BARE + "x = \n", "", ["not TOML", "line 5"]),
        ("bufers = 3\n" + BARE, "bufers", ["no such key", "'buffers'"]),
        ("buffers = 3\n" + BARE, "buffers", ["must be a table, not 3"]),
        ("[buffers]\nx = 3\n" + BARE, "buffers.x", ["must be a table, not 3"]),
        ('[buffers."x+1"]\ntype="u8"\n' + BARE, "buffers.x+1", ["'+'"]),
        ("[buffers.x]\nshape = 4\n" + BARE, "buffers.x", ["'type' is missing", "f32"]),
        ('[buffers.x]\ntype = "float"\nshape = 4\n' + BARE, "buffers.x.type", ["no type 'float'", "f32"]),
        ('[buffers.x]\ntype = "f32"\n' + BARE, "buffers.x", ["'shape' is missing"]),
        ('[buffers.x]\ntype = "f32"\nshape = 0\n' + BARE, "buffers.x.shape", ["positive"]),
        ('[buffers.x]\ntype = "f32"\nshape = []\n' + BARE, "buffers.x.shape", ["positive"]),
        ('[buffers.x]\ntype = "f32"\nshape = [2, -1]\n' + BARE, "buffers.x.shape", ["positive"]),
        (
            '[buffers.x]\ntype = "f32"\nshape = true\n' + BARE,
            "buffers.x.shape",
            ["integer or a list", "True"],
        ),
        ('[buffers.x]\ntype = "f32"\nshape = [99999, 99999, 99]\n' + BARE, "buffers.x.shape", ["at most"]),
        (BUFFERS + "fil = 3\n" + BARE, "buffers.x.fil", ["no such key", "'fill'"]),
        (BUFFERS + "fill = 3\nzeros = true\n" + BARE, "buffers.x", ["choose one"]),
        (BUFFERS + "zeros = false\n" + BARE, "buffers.x.zeros", ["only be true"]),
        (BUFFERS + "arange = false\n" + BARE, "buffers.x.arange", ["only be true"]),
        (BUFFERS + "arange = { begin = 3 }\n" + BARE, "buffers.x.arange.begin", ["start, step"]),
        (BUFFERS + 'fill = "a"\n' + BARE, "buffers.x.fill", ["an integer or a number, not 'a'"]),
        (BUFFERS + "fill = 1e300\n" + BARE, "buffers.x.fill", ["does not fit type f32"]),
        (BUFFERS + "values = [1, 2]\n" + BARE, "buffers.x.values", ["shape [2]", "[4]"]),
        (BUFFERS + "values = [[1, 2], [3, 4]]\n" + BARE, "buffers.x.values", ["shape [2, 2]", "[4]"]),
        (BUFFERS + "values = [[1, 2], [3]]\n" + BARE, "buffers.x.values", ["equal lengths"]),
        (BUFFERS + 'values = ["1"]\n' + BARE, "buffers.x.values", ["'1' is not a number"]),
        (BUFFERS + "values = []\n" + BARE, "buffers.x.values", ["empty"]),
        (
            '[buffers.x]\ntype = "u8"\nvalues = [256]\n' + BARE,
            "buffers.x.values",
            ["256 does not fit type u8"],
        ),
        ('[buffers.x]\ntype = "u8"\nvalues = [1.5]\n' + BARE, "buffers.x.values", ["1.5 is not an integer"]),
        (
            '[buffers.x]\ntype = "u8"\nshape = 2\narange = { step = 0.5 }\n' + BARE,
            "buffers.x.arange.step",
            ["64-bit integer"],
        ),
        (
            BUFFERS + 'random = { distribution = "gauss" }\n' + BARE,
            "buffers.x.random.distribution",
            ["'gauss'", "normal"],
        ),
        (BUFFERS + "random = { seed = 3 }\n" + BARE, "buffers.x.random", ["'distribution' is missing"]),
        (
            BUFFERS + 'random = { distribution = "normal", seed = -1 }\n' + BARE,
            "buffers.x.random.seed",
            ["negative"],
        ),
        (
            BUFFERS + 'random = { distribution = "normal", std = -1 }\n' + BARE,
            "buffers.x.random.std",
            ["negative"],
        ),
        (
            BUFFERS + 'random = { distribution = "normal", low = 1 }\n' + BARE,
            "buffers.x.random.low",
            ["no such key", "mean"],
        ),
        (
            BUFFERS + 'random = { distribution = "uniform", low = 2 }\n' + BARE,
            "buffers.x.random.high",
            ["not below low"],
        ),
        (
            BUFFERS + 'random = { distribution = "integers" }\n' + BARE,
            "buffers.x.random",
            ["'high' is missing"],
        ),
        (
            BUFFERS + 'random = { distribution = "integers", high = 0 }\n' + BARE,
            "buffers.x.random.high",
            ["no", "range"],
        ),
        (
            '[buffers.x]\ntype = "u8"\nshape = 2\nrandom = { distribution = "uniform" }\n' + BARE,
            "buffers.x.random.distribution",
            ["'integers'"],
        ),
        (BUFFERS + 'file = "nowhere.npy"\n' + BARE, "buffers.x.file", ["cannot read", "nowhere.npy"]),
        (BUFFERS + 'file = "k.ptx"\n' + BARE, "buffers.x.file", ["bytes, not a positive multiple of the 4"]),
        ('[buffers.x]\nfile = "k.ptx"\n' + BARE, "buffers.x", ["'type' is missing", "raw file"]),
        ("[expected.x]\nfill = 1\n" + BARE, "expected.x", ["no buffer 'x'"]),
        (BUFFERS + "[expected.x]\nrtol = 1\n" + BARE, "expected.x", ["nothing about the content"]),
        (BUFFERS + "[expected.x]\nfill = 1\nrtol = -1\n" + BARE, "expected.x.rtol", ["negative"]),
        (BUFFERS + "[expected.x]\nvalues = [1]\n" + BARE, "expected.x.values", ["shape [1]", "[4]"]),
        (BUFFERS + '[expected.x]\ntype = "f32"\nfill = 1\n' + BARE, "expected.x.type", ["no such key"]),
        (
            '[symbols.w]\ntype = "u8"\nshape = 1\n' + BARE,
            "symbols.w",
            ["no .const or .global variable 'w'", "weights"],
        ),
        ('[symbols.tile]\ntype = "u8"\nshape = 1\n' + BARE, "symbols.tile", ["no .const or .global"]),
        ('[symbols.weights]\ntype = "f32"\nshape = 5\n' + BARE, "symbols.weights", ["20 bytes", "only 16"]),
        ("[[launch]]\ngrid = 1\nblock = 1\n", "launch[0]", ["'entry' is missing", "k, bare"]),
        (BARE.replace('"bare"', '"bar"'), "launch[0].entry", ["no kernel 'bar'", "k, bare"]),
        (BARE.replace("grid = 1\n", ""), "launch[0]", ["'grid' is missing"]),
        (BARE.replace("grid = 1", "grid = 0"), "launch[0].grid", ["[0, 1, 1]", "at least 1"]),
        (BARE.replace("grid = 1", "grid = [1, 70000]"), "launch[0].grid", ["at most", "65535"]),
        (BARE.replace("grid = 1", "grid = []"), "launch[0].grid", ["one to three"]),
        (BARE.replace("grid = 1", "grid = [1, 1, 1, 1]"), "launch[0].grid", ["one to three"]),
        (BARE.replace("grid = 1", "grid = 1.5"), "launch[0].grid", ["an integer or a list, not 1.5"]),
        (BARE.replace("[32, 2]", "0"), "launch[0].block", ["at least 1"]),
        (BARE.replace("[32, 2]", "2048"), "launch[0].block", ["at most", "1024"]),
        (BARE.replace("[32, 2]", "[64, 32]"), "launch[0].block", ["2048 threads", "1024"]),
        (BARE.replace("[32, 2]", "[64, 1]"), "launch[0].block", ["[32, 2, 1]", ".reqntid"]),
        (
            BUFFERS + LAUNCH.replace("block = 32", "block = 512"),
            "launch[0].block",
            ["512 threads", "256", ".maxntid"],
        ),
        (BARE + "shared = -1\n", "launch[0].shared", ["-1"]),
        (BARE + "shared = 1000000000000000\n", "launch[0].shared", ["1000000000000000", "232448"]),
        (BARE + "shard = 1\n", "launch[0].shard", ["'shared'"]),
        (BARE + 'args = ["x"]\n', "launch[0].args", ["1 arguments", "0 parameters: none"]),
        (LAUNCH.replace('"x", ', ""), "launch[0].args", ["4 arguments", "5 parameters", "s (.b8, 12 bytes)"]),
        (LAUNCH, "launch[0].args[0]", ["no buffer 'x'", "none"]),
        (BUFFERS + LAUNCH.replace('"x"', '"x+a"'), "launch[0].args[0]", ["number of bytes"]),
        (BUFFERS + LAUNCH.replace('"x"', '"x+17"'), "launch[0].args[0]", ["offset 17", "16 bytes"]),
        (BUFFERS + LAUNCH.replace('"x"', "{ f64 = 1 }"), "launch[0].args[0]", ["p is .u64", "given is f64"]),
        (BUFFERS + LAUNCH.replace('"x"', "1.5"), "launch[0].args[0]", ["1.5 is not an integer"]),
        (
            BUFFERS + LAUNCH.replace(" 3,", ' "x",'),
            "launch[0].args[1]",
            ["n is .u32 of 4 bytes", "address of buffer 'x'"],
        ),
        (BUFFERS + LAUNCH.replace(" 3,", " 4294967296,"), "launch[0].args[1]", ["does not fit type u32"]),
        (
            BUFFERS + LAUNCH.replace(" 3,", " { u64 = 1 },"),
            "launch[0].args[1]",
            ["of 4 bytes", "u64 of 8 bytes"],
        ),
        (BUFFERS + LAUNCH.replace(" 3,", " true,"), "launch[0].args[1]", ["True is not a number"]),
        (BUFFERS + LAUNCH.replace(" 3,", " {},"), "launch[0].args[1]", ["one key"]),
        (BUFFERS + LAUNCH.replace(" 3,", " { int = 1 },"), "launch[0].args[1]", ["no type 'int'"]),
        (BUFFERS + LAUNCH.replace(" 1.5,", " 1e300,"), "launch[0].args[2]", ["does not fit type f32"]),
        (
            BUFFERS + LAUNCH.replace(" 1.5,", " { u32 = 1 },"),
            "launch[0].args[2]",
            ["a is .f32", "given is u32"],
        ),
        (BUFFERS + LAUNCH.replace("00 01", "00"), "launch[0].args[3]", ["12 bytes", "11 bytes are given"]),
        (BUFFERS + LAUNCH.replace("00 01", "zz"), "launch[0].args[3]", ["hexadecimal"]),
        (BUFFERS + re.sub(r"\{ bytes.*?\}", "7", LAUNCH), "launch[0].args[3]", ["structure of 12 bytes"]),
        (BUFFERS + LAUNCH + BARE.replace("grid = 1", "grid = 0"), "launch[1].grid", ["at least 1"]),
    ],
)
def test_mistakes(load, description: str, key: str, parts: list[str]) -> None:
    with pytest.raises(LaunchError) as caught:
        load(description)
    message = str(caught.value)
    assert message.startswith(f"{load.folder / 'k.toml'}: {key}")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_npy_mistakes(load) -> None:
    np.save(load.folder / "a.npy", np.zeros(4, np.int16))
    np.save(load.folder / "c.npy", np.zeros(4, np.complex64))
    np.save(load.folder / "e.npy", np.zeros(0, np.float32))
    (load.folder / "bad.npy").write_bytes(b"\x93NUMPY no")
    (load.folder / "none.npy").write_bytes(b"")
    for name, part in (
        ("a", "holds s16"),
        ("c", "complex64"),
        ("e", "empty"),
        ("bad", "no .npy"),
        ("none", "no .npy"),
    ):
        with pytest.raises(LaunchError, match=part):
            load(f'[buffers.x]\ntype = "f32"\nfile = "{name}.npy"\n{BARE}')


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="cannot read the PTX file"):
        load_job(tmp_path / "none.ptx")
    (tmp_path / "k.ptx").write_text(PTX)
    with pytest.raises(
        LaunchError, match=r"k\.toml: there is no launch description for k\.ptx.*docs/launch\.md"
    ):
        load_job(tmp_path / "k.ptx")
    with pytest.raises(LaunchError, match=r"other\.toml: cannot read the launch description"):
        load_job(tmp_path / "k.ptx", tmp_path / "other.toml")
    (tmp_path / "k.toml").write_text(BARE)
    (tmp_path / "k.ptx").write_bytes(b"\xff\xfe")
    with pytest.raises(LaunchError, match="is not text"):
        load_job(tmp_path / "k.ptx")
    (tmp_path / "k.ptx").write_text(PTX[:-4])
    with pytest.raises(PtxError, match="truncated"):
        load_job(tmp_path / "k.ptx")


@pytest.mark.parametrize("name", workloads.names())
def test_shipped_jobs_are_sound(name: str) -> None:
    job = workloads.get(name).job("tiny")
    check_job(job, parse(job.ptx, job.ptx_path))


def test_jobs_made_by_code_are_checked_too() -> None:
    job = load_job(SAXPY)
    module = parse(job.ptx, job.ptx_path)
    (launch,) = job.launches
    wrong = {
        "no launch": replace(job, launches=[]),
        "no kernel 'axpy'": replace(job, launches=[replace(launch, entry="axpy")]),
        r"launch\[0\].grid": replace(job, launches=[replace(launch, grid=(0, 1, 1))]),
        "no buffer 'z'": replace(job, launches=[replace(launch, args=("z", *launch.args[1:]))]),
        "offset -4": replace(job, launches=[replace(launch, args=(Pointer("x", -4), *launch.args[1:]))]),
        "f64 of shape": replace(job, expected={"y": Expected(np.zeros(1000))}),
        "expected.z: there is no buffer": replace(job, expected={"z": Expected(np.zeros(1000))}),
    }
    for part, bad in wrong.items():
        with pytest.raises(LaunchError, match=f"saxpy: .*{part}"):
            check_job(bad, module)
