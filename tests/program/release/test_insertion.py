"""Flag instructions in traces: on no path that a warp took does a lane read what was released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.program import guarded_barrier
from tests.program.release.replay import drawn, replay
from warpbank import workloads
from warpbank.arch.presets import preset
from warpbank.arch.uop import Control, Unit
from warpbank.program.cfg import Cfg
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import Kernel
from warpbank.program.launch import Job, Launch
from warpbank.program.liveness import NOTHING
from warpbank.program.release.insertion import Release, insert_flags, release_all
from warpbank.program.release.words import FlagWord
from warpbank.program.runner import compile_job, execute, trace_job
from warpbank.program.simt_liveness import SimtLiveness
from warpbank.program.trace.schema import DYNAMIC, Trace

SEEDS = range(24)


@pytest.mark.quick("[c-r]*")
@pytest.mark.parametrize("name", workloads.names())
def test_no_lane_of_a_kernel_reads_what_was_released(name: str) -> None:
    job = workloads.get(name).job("tiny")
    wrong, freed, _ = replay(insert_flags(trace_job(job), release_all(compile_job(job))))
    assert wrong == 0
    assert freed


@pytest.mark.quick("[4-8]")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_lane_of_a_random_program_reads_what_was_released(seed: int) -> None:
    for registers in (16, 255):
        kernels, trace = drawn(seed, registers)
        wrong, freed, _ = replay(insert_flags(trace, release_all(kernels)))
        assert wrong == 0, (seed, registers)
        assert freed


def caught(
    change: Callable[[dict[str, Kernel], Release], Release] = lambda kernels, release: release,
) -> bool:
    """Whether some random program reads what was released."""
    for seed in SEEDS:
        kernels, trace = drawn(seed)
        if replay(insert_flags(trace, change(kernels, release_all(kernels))))[0]:
            return True
    return False


def at_the_branch(kernels: dict[str, Kernel], release: Release) -> Release:
    """Every pbr of a reconvergence point moves to where the lanes part: behind the branch, on both sides."""
    (kernel,) = kernels.values()
    cfg, live = Cfg(kernel), SimtLiveness(kernel)
    meetings = {b: cfg.reconvergence_block(b) for b in live.divergence.divergent_branches}
    moved: list[FlagWord] = []
    for word in release.words:
        parts = [b for b, meeting in meetings.items() if meeting and cfg.starts[meeting] == word.first]
        if word.control is Control.PBR and parts:
            moved += [
                replace(word, first=cfg.starts[s]) for b in parts for s in cfg.successors[b] if s != cfg.exit
            ]
        else:
            moved.append(word)
    return replace(release, words=tuple(moved))


def one_instruction_early(_: dict[str, Kernel], release: Release) -> Release:
    """Every operand flag moves to the instruction before."""
    return replace(release, dead=np.roll(release.dead, -1))


@pytest.mark.long
def test_mutants_released_too_early() -> None:
    assert not caught()
    assert caught(at_the_branch)
    assert caught(one_instruction_early)


def test_mutant_thread_liveness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimtLiveness, "_wait_at", lambda self, branch, at_barriers: None)
    assert caught()


def parted_at_a_barrier() -> Job:
    """Half of a warp waits at a barrier on one side of a branch; the others go on behind it, to the same
    barrier."""
    ptx = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry parted(.param .u64 p_out)
{
	.reg .pred %p;
	.reg .b32 %r<4>;
	.reg .b64 %a<3>;
	ld.param.u64 %a0, [p_out];
	mov.u32 %r0, %tid.x;
	mul.wide.u32 %a1, %r0, 4;
	add.s64 %a2, %a0, %a1;
	mul.lo.s32 %r1, %r0, 3;
	setp.gt.u32 %p, %r0, 15;
	@%p bra $meet;
	bar.sync 0;
	st.global.u32 [%a2], %r1;
$meet:
	add.s32 %r2, %r0, 1;
	mul.lo.s32 %r3, %r2, %r2;
	st.global.u32 [%a2+128], %r3;
	bar.sync 0;
	ret;
}
"""
    launch = Launch("parted", (1, 1, 1), (32, 1, 1), ("out",))
    return Job("parted", "tiny", ptx, "parted.ptx", {"out": np.zeros(64, np.uint32)}, [launch])


def test_lanes_parked_at_a_barrier_keep_their_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    job = parted_at_a_barrier()
    kernels, trace = compile_job(job), execute(job, trace=True).trace
    assert trace is not None
    assert replay(insert_flags(trace, release_all(kernels)))[0] == 0
    monkeypatch.setattr(SimtLiveness, "_parked", lambda self, at_barriers: NOTHING)
    assert replay(insert_flags(trace, release_all(kernels)))[0] > 0


def test_lanes_that_arrive_at_a_barrier_alone_keep_their_registers() -> None:
    kernels, trace = guarded_barrier.drawn()
    assert replay(insert_flags(trace, release_all(kernels)))[0] == 0


def taken_out(trace: Trace) -> np.ndarray:
    """Executed instructions without the flag instructions."""
    return trace.dynamic[~np.isin(trace.dynamic["pc"], list(trace.flag_words))]


def test_the_trace_is_the_same_but_for_the_flag_instructions() -> None:
    job = workloads.get("bfs").job("tiny")
    before, kernels = trace_job(job), compile_job(job)
    release = release_all(kernels)
    after = insert_flags(before, release)
    base = len(before.code)
    assert (taken_out(after) == before.dynamic).all()
    assert (
        list(after.flag_words)
        == list(range(base, base + len(release.words)))
        == list(range(base, len(after.code)))
    )
    assert len(after.text) == len(after.ptx_line) == len(after.code)
    assert (after.code["unit"][base:] == Unit.CONTROL).all()
    assert not after.code["source_count"][base:].any()
    assert after.hints is not None
    assert after.hints.dead[:base].tolist() == release.dead.tolist()
    assert not after.hints.dead[base:].any()
    for old, new in zip(before.warps, after.warps, strict=True):
        rows = after.dynamic[int(new["first"]) : int(new["first"]) + int(new["length"])]
        words = np.isin(rows["pc"], list(after.flag_words))
        assert (rows["mask"][words] == new["mask"]).all()
        assert (
            rows[~words] == before.dynamic[int(old["first"]) : int(old["first"]) + int(old["length"])]
        ).all()
    spans = sorted(zip(after.warps["first"].tolist(), after.warps["length"].tolist(), strict=True))
    ends = [first + length for first, length in spans]
    assert [first for first, _ in spans] == [0, *ends[:-1]]  # each word is a warp's, the first ones too
    assert ends[-1] == len(after.dynamic)


def test_where_flag_instructions_are_met() -> None:
    """By a loop over the trace: the pbr of a block at its start, the pir of an instruction unless the one
    before had the same."""
    for seed in SEEDS[:6]:
        kernels, before = drawn(seed)
        release = release_all(kernels)
        after = insert_flags(before, release)
        base, expected = len(before.code), []
        for warp in before.warps:
            covering = None
            for row in before.dynamic[int(warp["first"]) : int(warp["first"] + warp["length"])]:
                pc = int(row["pc"])
                at = [n for n, w in enumerate(release.words) if w.control is Control.PBR and w.first == pc]
                pir = [n for n, w in enumerate(release.words) if w.first <= pc < w.first + w.covers]
                if pir and (pir[0] != covering or release.words[pir[0]].first == pc):
                    at += pir
                covering = pir[0] if pir else None
                expected += [*(base + n for n in at), pc]
        assert after.dynamic["pc"].tolist() == expected


def test_annotate() -> None:
    job = workloads.get("nn").job("tiny")
    trace = with_hints(trace_job(job), ("release",), preset("fermi"), lambda: compile_job(job))
    assert trace.flag_words
    assert int(trace.warps["first"].min()) == 0
    assert int(trace.warps["length"].sum()) == len(trace.dynamic)
    assert replay(trace)[0] == 0


def test_prefetches_and_flags_together() -> None:
    """A PREFETCH comes first, then pbr and pir, then the instruction; the flags are those without
    prefetches."""
    job = workloads.get("bfs").job("tiny")
    alone, both = (
        with_hints(trace_job(job), hints, preset("fermi"), lambda: compile_job(job))
        for hints in (("release",), ("dead", "intervals", "release"))
    )
    assert both.working_sets
    assert replay(both) == replay(alone)
    assert alone.hints is not None
    assert both.hints is not None
    count = len(alone.code) - len(alone.flag_words)
    assert both.hints.dead[:count].tolist() == alone.hints.dead[:count].tolist()
    kinds = both.code["control"][both.dynamic["pc"]]
    prefetches = np.flatnonzero(kinds == Control.PREFETCH)
    before = kinds[prefetches[1:] - 1]
    assert len(before) > 0
    assert not np.isin(before, [Control.PIR, Control.PBR]).any()


def test_registers_that_are_not_renamed() -> None:
    job = workloads.get("bfs").job("tiny")
    kernels = compile_job(job)
    exempt = dict.fromkeys(kernels, 0b1111)
    release = release_all(kernels, exempt)
    assert release.exempt == (0b1111,) * len(kernels)
    assert not any(word.registers & 0b1111 for word in release.words)
    trace = insert_flags(trace_job(job), release)
    assert trace.exempt == release.exempt
    for pc in np.flatnonzero(release.dead):
        sources = trace.code["sources"][pc][: trace.code["source_count"][pc]]
        assert all(r > 3 for k, r in enumerate(sources) if release.dead[pc] >> k & 1)


def test_instructions_that_other_passes_put_in_are_passed_over() -> None:
    """A foreign control uop, as a PREFETCH is, between a block's pbr and its instructions."""
    kernels, before = drawn(1)
    release = release_all(kernels)
    code = np.concatenate([before.code, before.code[-1:]])
    rows = np.zeros(2 * len(before.dynamic), DYNAMIC)
    rows[1::2], rows["pc"][::2], rows["mask"][::2] = before.dynamic, len(before.code), 1
    warps = before.warps.copy()
    warps["first"], warps["length"] = 2 * warps["first"], 2 * warps["length"]
    lines = np.concatenate([before.ptx_line, [0]])
    foreign = replace(before, code=code, text=[*before.text, "X"], ptx_line=lines, dynamic=rows, warps=warps)
    alone, both = insert_flags(before, release), insert_flags(foreign, release)
    pcs = both.dynamic["pc"][both.dynamic["pc"] != len(before.code)].astype(int)
    assert np.where(pcs > len(before.code), pcs - 1, pcs).tolist() == alone.dynamic["pc"].tolist()
