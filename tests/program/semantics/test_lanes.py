"""Shuffles, votes, matches, reductions, lane masks: under guards, in branches, in partial warps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.semantics.bench import M32, run, s


def rows(body: str, words: int = 4, threads: int = 48, seed: int = 1) -> tuple[list[int], list[np.ndarray]]:
    """The body's %o0.. of every thread, with %v a random word of its own, %t the thread; both forms."""
    values = np.random.default_rng(seed).integers(0, 1 << 32, threads, np.uint32)
    stores = "".join(f"st.global.b32 [%out+{4 * i}], %o{i};" for i in range(words))
    zero = "".join(f"mov.b32 %o{i}, 0;" for i in range(words))
    text = f"""
.visible .entry k(.param .u64 p, .param .u64 q) {{
.reg .b64 %in, %out, %at, %d<5>; .reg .b32 %t, %v, %lane, %r<20>, %o<{words}>; .reg .pred %p<9>;
ld.param.u64 %in, [p]; ld.param.u64 %out, [q]; mov.u32 %t, %tid.x; mov.u32 %lane, %laneid;
mul.wide.u32 %at, %t, 4; add.s64 %in, %in, %at; ld.global.b32 %v, [%in]; mul.wide.u32 %at, %t, {4 * words};
add.s64 %out, %out, %at;
{zero} {body} {stores} ret; }}"""
    done = run(text, {"in": values, "out": np.zeros((threads, words), np.uint32)}, block=(threads, 1, 1))
    return values.tolist(), [d["out"] for d in done]


def shuffle(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The manual's pseudocode."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    top = lane & mask | cval & ~mask & 31
    source = {
        "up": lane - bval,
        "down": lane + bval,
        "bfly": lane ^ bval,
        "idx": lane & mask | bval & ~mask & 31,
    }[mode]
    valid = source >= top if mode == "up" else source <= top
    return (source if valid else lane), valid


@pytest.mark.parametrize("width", [32, 16, 8, 2, 1])
def test_shuffles_of_a_width(width: int) -> None:
    """Constants as compilers make them of a width; distances below, at and beyond it; distances that differ
    between lanes."""
    checks = []
    body = ""
    for mode in ("up", "down", "bfly", "idx"):
        c = (32 - width) << 8 | (0 if mode == "up" else 31)
        for amount in ("1", "5", f"{width}", "33", "%r9"):
            i = 2 * len(checks)
            body += f"shfl.sync.{mode}.b32 %o{i}|%p1, %v, {amount}, {c}, -1; selp.u32 %o{i + 1}, 1, 0, %p1;"
            checks.append((mode, amount, c))
    body = "mul.lo.u32 %r9, %lane, 7;" + body
    values, forms = rows(body, 2 * len(checks), threads=32)
    for out in forms:
        for lane in range(32):
            for i, (mode, amount, c) in enumerate(checks):
                source, valid = shuffle(mode, lane, 7 * lane if amount == "%r9" else int(amount), c)
                assert out[lane, 2 * i : 2 * i + 2].tolist() == [values[source], valid], (mode, amount, lane)


def test_shuffles_in_place_and_of_wide_values() -> None:
    body = """
mov.b32 %o0, %v; shfl.sync.bfly.b32 %o0, %o0, 16, 31, -1; shfl.sync.bfly.b32 %o0, %o0, 8, 31, -1;
mov.b64 %d1, {%v, %t}; mov.b64 {%r1, %r2}, %d1; shfl.sync.down.b32 %r1|%p1, %r1, 4, 31, -1;
shfl.sync.down.b32 %r2, %r2, 4, 31, -1;
mov.b64 %d1, {%r1, %r2}; cvt.u32.u64 %o1, %d1; shr.u64 %d1, %d1, 32; cvt.u32.u64 %o2, %d1;
mov.b32 %o3, %v; setp.lt.u32 %p2, %lane, 7; @%p2 shfl.sync.idx.b32 %o3, %o3, %o2, 31, 127;"""
    values, forms = rows(body, threads=32)
    for out in forms:
        for lane in range(32):
            down = lane + 4 if lane + 4 < 32 else lane
            last = lane if lane >= 7 else down
            expected = [values[lane ^ 24], values[down], down]
            assert out[lane, :3].tolist() == expected
            if lane >= 7 or down < 7:  # beyond, the source lane does not take part
                assert out[lane, 3] == values[last]


def test_votes_under_guards_and_in_partial_warps() -> None:
    body = """
and.b32 %r1, %v, 1; setp.ne.u32 %p1, %r1, 0; setp.lt.u32 %p2, %lane, 11; setp.ge.u32 %p3, %lane, 99;
vote.sync.ballot.b32 %o0, %p1, -1; vote.sync.ballot.b32 %o1, !%p1, -1;
@%p2 vote.sync.ballot.b32 %o2, %p1, 2047; activemask.b32 %o3; @%p2 activemask.b32 %o4;
vote.sync.all.pred %p4, %p1, -1; vote.sync.any.pred %p5, %p1, -1; vote.sync.uni.pred %p6, %p3, -1;
vote.sync.all.pred %p7, !%p3, -1;
mov.pred %p8, %p1; vote.sync.any.pred %p8, %p8, -1;
selp.u32 %r2, 1, 0, %p4; selp.u32 %r3, 2, 0, %p5; selp.u32 %r4, 4, 0, %p6; selp.u32 %r5, 8, 0, %p7;
selp.u32 %r6, 16, 0, %p8;
or.b32 %o5, %r2, %r3; or.b32 %o5, %o5, %r4; or.b32 %o5, %o5, %r5; or.b32 %o5, %o5, %r6;
@!%p1 bra odd; vote.sync.ballot.b32 %o6, 1, %o0; activemask.b32 %o7; bra.uni done; odd: activemask.b32 %o7;
done: bar.warp.sync -1; activemask.b32 %o8;"""
    values, forms = rows(body, 9, threads=48)
    for out in forms:
        for t in range(48):
            lanes = range(32 * (t // 32), min(48, 32 * (t // 32) + 32))
            yes = sum((values[i] & 1) << i % 32 for i in lanes)
            every = sum(1 << i % 32 for i in lanes)
            first = t % 32 < 11
            mine = yes if values[t] & 1 else every & ~yes
            flags = (yes == every) | 2 * (yes != 0) | 4 | 8 | 16 * (yes != 0)
            assert out[t].tolist() == [
                yes,
                every & ~yes,
                (yes & 2047) * first,
                every,
                2047 * first,
                flags,
                yes * (values[t] & 1),
                mine,
                every,
            ], t


def test_matches_and_reductions() -> None:
    body = """
and.b32 %r1, %v, 3; match.any.sync.b32 %o0, %r1, -1; mov.b64 %d1, {%t, %r1};
and.b64 %d1, %d1, 0xFFFFFFFF00000001;
match.any.sync.b64 %o1, %d1, -1; mov.b32 %r2, 5; match.all.sync.b32 %o2|%p1, %r2, -1; selp.u32 %o3, 1, 0, %p1;
match.all.sync.b32 %o4|%p1, %r1, -1; @%p1 add.u32 %o4, %o4, 1;
redux.sync.add.u32 %o5, %v, -1; redux.sync.min.s32 %o6, %v, -1; redux.sync.max.s32 %o7, %v, -1;
redux.sync.min.u32 %o8, %v, -1;
redux.sync.max.u32 %o9, %v, -1; redux.sync.and.b32 %o10, %v, -1; redux.sync.or.b32 %o11, %v, -1;
redux.sync.xor.b32 %o12, %v, -1;"""
    values, forms = rows(body, 13, threads=48)
    for out in forms:
        for t in range(48):
            lanes = range(32 * (t // 32), min(48, 32 * (t // 32) + 32))
            mine = [values[i] for i in lanes]
            every = sum(1 << i % 32 for i in lanes)
            same = sum(1 << i % 32 for i in lanes if values[i] & 3 == values[t] & 3)
            both = sum(1 << i % 32 for i in lanes if values[i] & 3 == values[t] & 3 and (i ^ t) & 1 == 0)
            signed = [s(v, 32) for v in mine]
            logic = [
                int(np.bitwise_and.reduce(mine)),
                int(np.bitwise_or.reduce(mine)),
                int(np.bitwise_xor.reduce(mine)),
            ]
            assert out[t].tolist() == [
                same,
                both,
                every,
                1,
                0,
                sum(mine) & M32,
                min(signed) & M32,
                max(signed) & M32,
                min(mine),
                max(mine),
                *logic,
            ]


def test_special_registers_in_three_dimensions() -> None:
    text = (
        """
.visible .entry k(.param .u64 out) {
.reg .b64 %d<5>; .reg .b32 %r<40>; .reg .pred %p;
ld.param.u64 %d1, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y;
mov.u32 %r6, %ntid.z;
mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %ctaid.z; mov.u32 %r10, %nctaid.x;
mov.u32 %r11, %nctaid.y;
mov.u32 %r12, %nctaid.z; mov.u32 %r13, %laneid; mov.u32 %r14, %warpid; mov.u32 %r15, %nwarpid;
mov.u32 %r16, %lanemask_eq;
mov.u32 %r17, %lanemask_lt; mov.u32 %r18, %lanemask_le; mov.u32 %r19, %lanemask_gt;
mov.u32 %r20, %lanemask_ge;
mov.u32 %r21, %clock; mov.u64 %d2, %clock64; cvt.u32.u64 %r22, %d2; sub.u32 %r22, %r22, %r21;
setp.gt.s32 %p, %r22, 0;
selp.u32 %r21, 1, 0, %p; mov.u32 %r22, WARP_SZ;
mad.lo.u32 %r30, %r9, %r11, %r8; mad.lo.u32 %r30, %r30, %r10, %r7; mad.lo.u32 %r31, %r3, %r5, %r2;
mad.lo.u32 %r31, %r31, %r4, %r1;
mul.lo.u32 %r32, %r4, %r5; mul.lo.u32 %r32, %r32, %r6; mad.lo.u32 %r30, %r30, %r32, %r31;
mul.wide.u32 %d2, %r30, 88;
add.s64 %d1, %d1, %d2;
"""
        + "".join(f"st.global.b32 [%d1+{4 * i}], %r{i + 1};" for i in range(22))
        + "ret; }"
    )
    block, grid = (5, 3, 4), (2, 3, 2)
    threads = 60
    for buffers in run(text, {"out": np.zeros((threads * 12, 22), np.uint32)}, block=block, grid=grid):
        for i, row in enumerate(buffers["out"].tolist()):
            cta, t = divmod(i, threads)
            lane = t % 32
            # A warp's number is a place on its multiprocessor, which a GPU gives out as it likes.
            warp, warps = row[13:15]
            assert 0 <= warp < warps
            assert warp == buffers["out"][threads * cta + t - lane, 13]
            assert row[:13] + row[15:] == [
                t % 5,
                t // 5 % 3,
                t // 15,
                *block,
                cta % 2,
                cta // 2 % 3,
                cta // 6,
                *grid,
                lane,
                1 << lane,
                (1 << lane) - 1,
                (2 << lane) - 1,
                M32 & ~((2 << lane) - 1),
                M32 & ~((1 << lane) - 1),
                1,
                32,
            ]


def test_sizes_of_shared_memory() -> None:
    """A GPU counts what its system keeps for itself among the total."""
    text = """
.extern .shared .align 16 .b8 rest[];
.visible .entry k(.param .u64 out) {
.reg .b64 %d1; .reg .b32 %r<5>; .shared .align 16 .b8 own[112];
ld.param.u64 %d1, [out]; mov.u32 %r1, %dynamic_smem_size; mov.u32 %r2, %total_smem_size;
mov.u32 %r3, own; mov.u32 %r4, rest; sub.u32 %r3, %r4, %r3; st.global.v2.b32 [%d1], {%r1, %r2};
st.global.b32 [%d1+8], %r3; ret; }"""
    for size in (0, 256):
        for buffers in run(text, {"out": np.zeros(3, np.uint32)}, dynamic=size):
            dynamic, total, start = buffers["out"].tolist()
            assert (dynamic, start) == (size, 112)
            assert 0 <= total - size - start <= 2048


def test_barriers_with_counts_and_reductions() -> None:
    text = """
.visible .entry k(.param .u64 out) {
.reg .b64 %d<5>; .reg .b32 %r<20>; .reg .pred %p<9>; .shared .align 4 .b32 s[4];
ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; setp.lt.u32 %p1, %r1, 70;
setp.ne.u32 %p2, %r1, 5;
barrier.cta.red.popc.aligned.u32 %r3, 0, %p1; bar.red.and.pred %p3, 1, %p2; bar.red.or.pred %p4, 2, 96, !%p2;
mov.b32 %r4, 0; mov.b32 %r5, 7; setp.eq.u32 %p5, %r2, 0; @%p5 bra consume;
st.shared.b32 [s], %r2; membar.cta; bar.arrive %r5, 96; bra.uni done;
consume: barrier.cta.sync 7, 96; ld.volatile.shared.b32 %r4, [s]; done: barrier.cta.sync.aligned 0;
bar.warp.sync -1;
selp.u32 %r6, 1, 0, %p3; selp.u32 %r7, 1, 0, %p4; mul.wide.u32 %d2, %r1, 16; add.s64 %d1, %d1, %d2;
st.global.v4.b32 [%d1], {%r3, %r6, %r7, %r4}; ret; }"""
    for buffers in run(text, {"out": np.zeros((96, 4), np.uint32)}, block=(96, 1, 1)):
        for t, row in enumerate(buffers["out"].tolist()):
            assert row[:3] == [70, 0, 1]
            assert row[3] in ((1, 2) if t < 32 else (0,))


def test_exits_and_returns_under_guards() -> None:
    body = """
setp.lt.u32 %p1, %lane, 3; @%p1 st.global.b32 [%out], %t; @%p1 exit; setp.ge.u32 %p2, %lane, 28;
@%p2 st.global.b32 [%out], %lane;
@%p2 ret; mov.b32 %r1, 0; mov.b32 %r2, 0;
loop: add.u32 %r1, %r1, %lane; add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, %lane; @%p3 bra loop;
vote.sync.ballot.b32 %o1, 1, -1;
mov.b32 %o0, %r1;
and.b32 %r3, %lane, 3; table: .branchtargets a, b, c, d; brx.idx %r3, table;
a: mov.b32 %o2, 10; bra end; b: mov.b32 %o2, 11; bra end; c: mov.b32 %o2, 12; d: add.u32 %o2, %o2, 100;
end: activemask.b32 %o3;"""
    _, forms = rows(body, threads=32)
    for out in forms:
        for lane in range(32):
            if lane < 3 or lane >= 28:
                assert out[lane].tolist() == [lane, 0, 0, 0]
            else:
                middle = sum(1 << i for i in range(3, 28))
                assert out[lane].tolist() == [lane * lane, middle, (10, 11, 112, 100)[lane & 3], middle]


def test_guarded_indexed_branches() -> None:
    """Threads that a guard leaves out go on behind the branch; each branch has its own list."""
    text = """
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<5>; .reg .b64 %d<3>; .reg .pred %p<3>;
    ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3;
    setp.lt.u32 %p1, %r1, 10; setp.lt.u32 %p2, %r1, 20;
    first: .branchtargets a, b, c;
    second: .branchtargets c, a, b;
    @%p1 brx.idx %r2, first;
    @!%p2 brx.idx %r2, second;
    mov.b32 %r3, 300; bra.uni end;
    a: mov.b32 %r3, 10; bra.uni end;
    b: mov.b32 %r3, 20; bra.uni end;
    c: mov.b32 %r3, 30;
    end: mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r3; ret; }
"""

    def expected(t: int) -> int:
        if t < 10:
            return (10, 20, 30)[t % 3]
        return 300 if t < 20 else (30, 10, 20)[t % 3]

    for buffers in run(text, {"out": np.zeros(32, np.uint32)}):
        assert buffers["out"].tolist() == [expected(t) for t in range(32)]
