"""Moves as PTX words them: copies, vectors, packing and unpacking of every width."""

from __future__ import annotations

from tests.program.semantics.bench import M16, M32, M64, Case, failures

_BYTES = ".reg .b8 %e, %f, %g, %i;"
_QUAD = ".reg .b128 %q1, %q2;"


def _sums() -> list[Case]:
    """Vectors that are copied, whose elements are added up with different factors."""
    return [
        Case(
            ".reg .v2 .b32 %v; mov.v2.b32 %v, {%ra, 7}; mov.v2.b32 {%rb, %rc}, %v;"
            " mad.lo.u32 %r, %rb, 3, %rc;",
            lambda x, y, z: x * 3 + 7,
        ),
        Case("mov.v2.u64 {%a, %b}, {%b, %a}; mad.lo.u64 %d, %a, 3, %b;", lambda x, y, z: y * 3 + x),
        Case("mov.v2.u32 {%r, _}, {%rb, %ra};", lambda x, y, z: y),
        Case(
            "mov.v4.u16 {%ha, %hb, %hc, %h}, {%hb, %hc, %ha, 3}; mad.lo.u16 %h, %h, %ha, %hb;"
            " mad.lo.u16 %h, %h, 5, %hc;",
            lambda x, y, z: (3 * y + z) * 5 + x,
        ),
        Case(
            "mov.v4.b32 {%ra, %rb, %rc, _}, {%rb, %rc, %ra, %ra}; mad.lo.u32 %r, %ra, 3, %rb;"
            " mad.lo.u32 %r, %r, 5, %rc;",
            lambda x, y, z: (3 * y + z) * 5 + x,
        ),
    ]


def _packed() -> list[Case]:
    """Numbers made of their parts, and parts taken out of numbers."""
    return [
        Case("mov.b64 %d, {%ra, %rb};", lambda x, y, z: x & M32 | (y & M32) << 32),
        Case("mov.b64 %d, {%ra, 9};", lambda x, y, z: x & M32 | 9 << 32),
        Case("mov.b64 {%r, _}, %a;", lambda x, y, z: x),
        Case("mov.b64 {_, %r}, %a;", lambda x, y, z: x >> 32),
        Case("mov.b64 {_, %h, _, _}, %a;", lambda x, y, z: x >> 16),
        Case("mov.b64 {_, _, %h, _}, %a;", lambda x, y, z: x >> 32),
        Case("mov.b64 {_, _, _, %h}, %a;", lambda x, y, z: x >> 48),
        Case(
            "mov.b64 %d, {%ha, %hb, 5, %hc};", lambda x, y, z: x & M16 | (y & M16) << 16 | 5 << 32 | z << 48
        ),
        Case("mov.b32 {%h, _}, -2147450880;", lambda x, y, z: 0x8000),
        Case("mov.b16 {%h}, %ha;", lambda x, y, z: x),
        Case("mov.b16 %h, {%ha};", lambda x, y, z: x),
        Case("mov.b32 {%r}, %ra;", lambda x, y, z: x),
        Case("mov.b64 %d, {%a};", lambda x, y, z: x),
        Case(
            f"{_BYTES} mov.b32 {{%e, %f, %g, %i}}, %ra; mov.b32 %r, {{%i, %e, %g, %f}};",
            lambda x, y, z: x >> 24 & 255 | (x & 255) << 8 | x & 0xFF0000 | (x >> 8 & 255) << 24,
        ),
        Case(
            f"{_BYTES} mov.b16 {{%e, %f}}, %ha; mov.b16 %h, {{%f, %e}};",
            lambda x, y, z: x >> 8 & 255 | (x & 255) << 8,
        ),
        Case(
            f"{_QUAD} mov.b128 %q1, {{%a, %b}}; mov.b128 %q2, %q1; mov.b128 {{%l, %d}}, %q2;"
            " mad.lo.u64 %d, %d, 3, %l;",
            lambda x, y, z: (y * 3 + x) & M64,
        ),
    ]


def test_copies_of_vectors() -> None:
    assert failures(_sums()) == []


def test_packing_and_unpacking() -> None:
    assert failures(_packed()) == []
