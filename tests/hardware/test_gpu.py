"""Every shipped kernel, and the PTX of Triton and Numba, on a real GPU, against the emulator. Deselected by
default: `pytest -m hardware` runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hardware.compare import difference
from tests.hardware.gpu import Gpu, NoGpu
from tests.program.compilers.jobs import NAMES
from tests.program.compilers.jobs import job as compilers_job
from warpbank import workloads

pytestmark = pytest.mark.hardware


@pytest.fixture(scope="module")
def gpu() -> Iterator[Gpu]:
    try:
        with Gpu() as opened:
            yield opened
    except NoGpu as error:
        pytest.skip(f"not run: {error}")


@pytest.mark.parametrize("size", ["tiny", "small"])
@pytest.mark.parametrize("name", workloads.names(workloads.ALL))
def test_memory_of_the_gpu_is_the_emulators(gpu: Gpu, name: str, size: str) -> None:
    from warpbank.program.runner import execute

    job = workloads.get(name).job(size)
    if not gpu.runs(job):
        pytest.skip(f"{gpu.name} is too old for the PTX of {name}")
    found, emulated = gpu.run(job), execute(job).buffers
    assert found.keys() == emulated.keys()
    differences = [text for key in found if (text := difference(name, key, emulated[key], found[key]))]
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("optimised", [True, False], ids=["optimised", "level0"])
@pytest.mark.parametrize("seed", [5, 6], ids=lambda seed: f"seed{seed}")
@pytest.mark.parametrize("name", NAMES)
def test_other_compilers_ptx(gpu: Gpu, name: str, seed: int, optimised: bool) -> None:
    from warpbank.program.runner import execute

    job = compilers_job(name, seed)
    if not gpu.runs(job):
        pytest.skip(f"{gpu.name} is too old for the PTX of {name}")
    found, emulated = gpu.run(job, optimised=optimised), execute(job).buffers
    differences = [text for key in found if (text := difference(name, key, emulated[key], found[key]))]
    assert not differences, "\n".join(differences)
