"""`python -m tests.hardware.record`: keeps what this machine's GPU leaves in memory, as digests, for machines
without one."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

import typer

from tests.hardware.compare import DIGESTS, difference, digest, identity
from tests.hardware.gpu import Gpu, NoGpu
from warpbank import workloads
from warpbank.program.runner import execute


def record(
    sizes: Annotated[
        list[str] | None, typer.Option("--size", help="Sizes to run [default: tiny and small].")
    ] = None,
    kernels: Annotated[
        list[str] | None, typer.Option("--kernel", help="Kernels to run [default: all].")
    ] = None,
) -> None:
    """Run the shipped kernels on the GPU and record the SHA-256 of every final buffer, whether or not the
    emulator agrees."""
    try:
        gpu = Gpu()
    except NoGpu as error:
        typer.echo(f"{error}; nothing was recorded", err=True)
        raise typer.Exit(2) from None
    path = DIGESTS / f"{re.sub(r'[^a-z0-9]+', '-', gpu.name.lower()).strip('-')}.json"
    whole: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"kernels": {}}
    whole |= {"gpu": gpu.name, "compute_capability": list(gpu.capability), "driver": gpu.driver_version}
    disagreed = 0
    with gpu:
        for name in kernels or workloads.names(workloads.ALL):
            for size in sizes or ["tiny", "small"]:
                job = workloads.get(name).job(size)
                if not gpu.runs(job):
                    typer.echo(f"{name} {size}: skipped, its PTX is for a later GPU")
                    continue
                found, emulated = gpu.run(job), execute(job).buffers
                entry = {
                    "identity": identity(job),
                    "buffers": {key: digest(value) for key, value in found.items()},
                }
                whole["kernels"].setdefault(name, {})[size] = entry
                differences = [
                    text for key in found if (text := difference(name, key, emulated[key], found[key]))
                ]
                disagreed += len(differences)
                typer.echo("\n".join(differences) or f"{name} {size}: agrees")
    DIGESTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")
    typer.echo(f"recorded {path}; {disagreed} buffers disagree with the emulator")
    raise typer.Exit(1 if disagreed else 0)


if __name__ == "__main__":
    typer.run(record)
