"""Page of a machine that plays a recording: one HTML file that needs no network.

The page draws a box for every room of the sub-core and a chip for every register that a unit keeps, and moves
what `warpbank.sim.view.ways` says of each event. It knows no scheme: what a unit keeps is what its `contents`
say, what happens is what the event registry says.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from warpbank.arch.config import config_hash
from warpbank.arch.events import EVENTS, STALLS, Cause, Stall
from warpbank.arch.uop import MOVE, Unit
from warpbank.program.runner import tool_versions
from warpbank.sim import experiment as exp
from warpbank.sim.events import NAMES
from warpbank.sim.view.recording import CoreRecording, Recording
from warpbank.sim.view.timeline import KINDS, Uop
from warpbank.sim.view.ways import described

#: Most instructions of the code beside the machine; of longer kernels those near what runs.
MAX_CODE = 1500


def encoded(value: np.ndarray) -> Any:
    """Register value in few characters: a number where all lanes are equal, [first, step] where they count
    up, else the lanes as base64 of little-endian words."""
    lanes = value.astype(np.uint32)
    steps = np.diff(lanes)
    if not len(steps) or not steps.any():
        return int(lanes[0])
    if (steps == steps[0]).all():
        return [int(lanes[0]), int(steps[0])]
    return base64.b64encode(lanes.astype("<u4").tobytes()).decode()


def _uop(uop: Uop, found: CoreRecording) -> dict[str, Any]:
    """A uop and its way, under short keys (see machine.js)."""
    operands = found.operands.get((uop.warp, uop.seq, -1 if uop.dispatched is None else uop.dispatched), [])
    mask, results = found.results.get((uop.warp, uop.seq, -1 if uop.issued is None else uop.issued), (-1, []))
    slots: list[list[Any]] = []
    for slot, register in enumerate(uop.sources):
        read = uop.reads.get(slot)
        value = operands[slot] if slot < len(operands) else -1
        way = (
            ["", -1, -1, None, None]
            if read is None
            else [read.source, read.place, read.row, read.granted, read.delivered]
        )
        slots.append([register, value, *way])
    made: dict[str, Any] = {
        "w": uop.warp,
        "s": uop.seq,
        "p": uop.pc,
        "f": uop.filled,
        "i": uop.issued,
        "d": uop.dispatched,
        "r": uop.retired,
        "c": uop.collector,
        "u": uop.unit,
        "m": mask,
        "o": slots,
        "n": [
            [register, results[place] if place < len(results) else -1]
            for place, register in enumerate(uop.destinations)
        ],
        "k": uop.writes,
        "h": [[span.start, span.end, span.name] for span in uop.hazards],
    }
    if uop.seq & MOVE:
        made["x"] = uop.text
    return made


def _core(recording: Recording, number: int) -> dict[str, Any]:
    """One sub-core's part of the page's data."""
    found, timeline = recording.cores[number], recording.timeline
    rows = recording.records[recording.records["core"] == number]
    shared = recording.records[recording.records["core"] < 0]
    records = np.concatenate([rows, shared])
    records = records[np.argsort(records["cycle"], kind="stable")]
    widths = [len(event.fields) for event in EVENTS.values()]
    reasons = np.full(timeline.end - timeline.start, int(Stall.NO_WARP))
    for span in timeline.schedulers.get(number, []):
        reasons[span.start - timeline.start : span.end - timeline.start] = Stall[span.name.upper()]
    shelves = [
        {
            "room": room,
            "place": place,
            "title": title,
            "capacity": capacity,
            "versions": [
                [cycle, [[warp, register, value, list(notes)] for warp, register, value, notes in cells]]
                for cycle, cells in found.kept[room, place]
            ],
        }
        for (room, place), (title, capacity) in sorted(found.shelves.items())
    ]
    return {
        "records": [
            [int(row["cycle"]), int(row["event"]), *map(int, row["values"][: widths[row["event"]]])]
            for row in records
            if NAMES[row["event"]] != "scheduler"
        ],
        "reasons": reasons.tolist(),
        "uops": [_uop(uop, found) for uop in timeline.uops if uop.core == number],
        "shelves": shelves,
        "homes": found.homes,
        "rows": [[bank, row, versions] for (bank, row), versions in sorted(found.rows.items())],
        "warps": [[cycle, *(f"{mask:x}" for mask in masks)] for cycle, *masks in found.warps],
    }


def _code(recording: Recording, ptx: str) -> tuple[list[list[Any]], dict[int, str]]:
    """Machine instructions (pc, text, line of the PTX) near those that run, and the lines of the PTX that
    they come from."""
    trace = recording.trace
    used = [uop.pc for uop in recording.timeline.uops if uop.pc >= 0]
    first = max(0, min(used, default=0) - 20) if len(trace.text) > MAX_CODE else 0
    pcs = range(first, min(len(trace.text), first + MAX_CODE))
    lines = trace.ptx_line.tolist()
    text = ptx.splitlines()
    code = [[pc, trace.text[pc].strip(), lines[pc] if pc < len(lines) else 0] for pc in pcs]
    used_lines = {lines[pc] for pc in pcs if pc < len(lines)}
    return code, {line: text[line - 1].strip() for line in sorted(used_lines) if 0 < line <= len(text)}


def data(recording: Recording, ptx: str = "") -> dict[str, Any]:
    """Data that the page's program draws, as JSON takes it.

    Parameters
    ----------
    recording : the cycles.
    ptx : text of the PTX module; "" if there is none.
    """
    config, timeline = recording.config, recording.timeline
    core = config.sub_core
    code, lines = _code(recording, ptx)
    return {
        "begin": timeline.start,
        "end": timeline.end,
        "lanes": config.lanes,
        "subCores": timeline.cores,
        "warps": core.warps,
        "banks": core.banks,
        "rows": core.rows,
        "collectors": core.collectors,
        "entries": core.cache.registers,
        "units": [unit.name.lower() for unit in Unit],
        "rooms": recording.units,
        "names": NAMES,
        "events": described(KINDS),
        "stalls": [[reason.name.lower().replace("_", " "), text] for reason, text in STALLS.items()],
        "causes": [cause.name.lower() for cause in Cause],
        "code": code,
        "ptx": lines,
        "cores": [_core(recording, number) for number in range(timeline.cores)],
        "values": [encoded(value) for value in recording.values.rows]
        if recording.trace.meta.get("values", True)
        else [],
    }


def render(title: str, text: str, content: dict[str, Any], made_by: dict[str, Any]) -> str:
    """Page of this data.

    Parameters
    ----------
    title, text : heading, and a sentence below it.
    content : see `data`.
    made_by : what made it, by name.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("warpbank.sim.view", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    packed = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    return environment.get_template("machine.html.j2").render(
        title=title, text=text, content=packed, made_by=made_by
    )


def page(recording: Recording, experiment: exp.Experiment) -> str:
    """Page of some cycles of an experiment: the machine, played forwards and backwards. One file, no network
    needed."""
    job, timeline = experiment.job, recording.timeline
    window = f"cycles {timeline.start} to {timeline.end - 1}"
    made_by = {
        "kernel": f"{job.name} ({job.size})",
        "scheme": experiment.scheme.name,
        "machine": experiment.preset,
        "configuration": config_hash(experiment.config),
        "versions": ", ".join(f"{name} {version}" for name, version in tool_versions().items()),
    }
    return render(
        f"{job.name} on {experiment.scheme.name}",
        f"{job.name} ({job.size}) on {experiment.preset} with register file {experiment.scheme.name}, "
        f"{window}.",
        data(recording, job.ptx),
        made_by,
    )
