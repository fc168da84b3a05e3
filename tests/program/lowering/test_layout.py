"""Layout of what a kernel names: what fits into constant memory, variables of other files, textures."""

from __future__ import annotations

import pytest

from warpbank.program.errors import PtxError
from warpbank.program.isa import Kernel
from warpbank.program.lowering import lower
from warpbank.program.lowering.layout import CONST_PARAMETERS, CONSTANT_BYTES, Layout
from warpbank.program.ptx.parser import parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def lowered(variables: str, body: str = "", parameters: str = "") -> Kernel:
    body = f".reg .b32 %r<5>; .reg .b64 %rd<3>; {body}"
    text = f"{HEAD}{variables}\n.visible .entry k({parameters}) {{ {body} ret; }}\n"
    return lower(parse(text, "some.ptx"), "k")


@pytest.mark.parametrize("more", [0, 4])
def test_constant_memory_can_be_filled_to_its_end(more: int) -> None:
    room = CONSTANT_BYTES - CONST_PARAMETERS - 8 + more
    variables = f".const .align 4 .b8 table[{room}];"
    body = "ld.const.u32 %r1, [table]; st.global.u32 [0], %r1;"
    if not more:
        assert len(lowered(variables, body, ".param .u64 a").constants) == CONSTANT_BYTES
    else:
        with pytest.raises(
            PtxError, match=rf"table.* does not fit: .* may take {CONSTANT_BYTES} bytes together"
        ):
            lowered(variables, body, ".param .u64 a")


@pytest.mark.parametrize(("declared", "size"), [(".b8 v", 1), (".b32 v", 4), (".b8 v[6]", 6)])
def test_a_variable_of_another_file_has_room_where_its_size_is_known(declared: str, size: int) -> None:
    made = lowered(f".extern .global {declared};", "mov.u64 %rd1, v; ld.global.b8 %r1, [%rd1];")
    assert made.globals["v"].size == size


def test_a_variable_of_another_file_and_no_size_is_refused() -> None:
    with pytest.raises(PtxError, match="'v' is only declared"):
        lowered(".extern .global .b8 v[];", "mov.u64 %rd1, v; ld.global.b8 %r1, [%rd1];")


def test_addresses_of_textures_stand_one_behind_the_other() -> None:
    module = parse(f"{HEAD}.entry k() {{ ret; }}\n", "some.ptx")
    kernel = Kernel("k", [], {}, 0)
    layout = Layout(module, module.functions["k"], kernel)
    slots = [layout.texture_slot(name, 1) for name in ("a", "b", "a", "c")]
    assert slots == [slots[0], slots[0] + 8, slots[0], slots[0] + 16]
    assert slots[0] % 8 == 0
    assert kernel.texture_slots == dict(zip("abac", slots, strict=True))
    assert len(kernel.constants) == slots[-1] + 8
