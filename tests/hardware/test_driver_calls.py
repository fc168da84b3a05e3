"""How the harness talks to the CUDA driver, on a stand-in for the bindings: without a GPU the calls can still
be checked.

The stand-in keeps device memory in a dict and, at a launch, reads the parameters as the driver would. It is
no GPU: the one kernel it knows adds a number to a buffer.
"""

from __future__ import annotations

import ctypes
import enum
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.hardware.gpu import Gpu, GpuError, NoGpu
from warpbank.program.launch import Job, Launch, Pointer

PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry bump(.param .u64 data, .param .f32 by, .param .align 4 .b8 raw[4]) { ret; }
"""


class Status(enum.Enum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1


class StandIn(ModuleType):
    """The names of `cuda.bindings.driver` that the harness uses."""

    CUresult = Status

    class CUdevice_attribute(enum.Enum):
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76

    class CUfunction_attribute(enum.Enum):
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

    def __init__(self, devices: int = 1) -> None:
        super().__init__("cuda.bindings.driver")
        self.devices = devices
        self.memory: dict[int, Any] = {}
        self.log: list[Any] = []
        self.levels: list[int] = []
        self.images: list[bytes] = []
        self.symbol = np.zeros(4, np.uint8)
        ok = Status.CUDA_SUCCESS
        self.cuInit = lambda flags: (ok,)
        self.cuDeviceGetCount = lambda: (ok, self.devices)
        self.cuDeviceGet = lambda index: (ok, 0)
        self.cuDeviceGetName = lambda length, device: (ok, b"Stand-In 1\0\0")
        self.cuDeviceGetAttribute = lambda which, device: (ok, {75: 7, 76: 5}[which.value])
        self.cuDriverGetVersion = lambda: (ok, 12040)
        self.cuDevicePrimaryCtxRetain = lambda device: (ok, 1)
        self.cuDevicePrimaryCtxRelease = lambda device: (ok,)
        self.cuCtxSetCurrent = lambda context: (ok,)
        self.cuCtxSynchronize = lambda: (ok,)
        self.cuGetErrorString = lambda status: (ok, b"invalid argument")
        self.cuModuleGetFunction = lambda module, name: (ok, name)
        self.cuModuleGetGlobal = lambda module, name: (ok, self.symbol.ctypes.data, 4)

    class CUjit_option(enum.Enum):
        CU_JIT_OPTIMIZATION_LEVEL = 7

    def cuModuleLoadDataEx(
        self, image: bytes, count: int, options: list[Any], values: list[int]
    ) -> tuple[Any, ...]:
        assert image.endswith(b"\0")
        assert count == len(options) == len(values)
        self.levels = values
        self.images.append(image)
        return Status.CUDA_SUCCESS, image

    def cuModuleUnload(self, module: bytes) -> tuple[Any, ...]:
        self.log.append("unload")
        return (Status.CUDA_SUCCESS,)

    def cuMemAlloc(self, count: int) -> tuple[Any, ...]:
        block = (ctypes.c_char * count)()
        self.memory[ctypes.addressof(block)] = block
        return Status.CUDA_SUCCESS, ctypes.addressof(block)

    def cuMemFree(self, address: int) -> tuple[Any, ...]:
        del self.memory[address]
        return (Status.CUDA_SUCCESS,)

    def cuMemcpyHtoD(self, target: int, source: int, count: int) -> tuple[Any, ...]:
        ctypes.memmove(target, source, count)
        return (Status.CUDA_SUCCESS,)

    cuMemcpyDtoH = cuMemcpyHtoD

    def cuFuncSetAttribute(self, function: bytes, which: enum.Enum, value: int) -> tuple[Any, ...]:
        self.log.append((function, which.name, value))
        return (Status.CUDA_SUCCESS,)

    def cuLaunchKernel(self, function: bytes, *arguments: int) -> tuple[Any, ...]:
        *dims, shared, _stream, parameters, _extra = arguments
        if 0 in dims:
            return (Status.CUDA_ERROR_INVALID_VALUE,)
        pointers = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_uint64 * 3)).contents
        data = ctypes.cast(pointers[0], ctypes.POINTER(ctypes.c_uint64)).contents.value
        by = ctypes.cast(pointers[1], ctypes.POINTER(ctypes.c_float)).contents.value
        self.log.append((function, dims, shared, ctypes.string_at(pointers[2], 4)))
        ctypes.cast(data, ctypes.POINTER(ctypes.c_float)).contents.value += by
        return (Status.CUDA_SUCCESS,)


def install(monkeypatch: pytest.MonkeyPatch, driver: StandIn) -> StandIn:
    bindings = ModuleType("cuda.bindings")
    bindings.driver = driver  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", driver)
    return driver


def job(grid: tuple[int, int, int] = (1, 2, 3)) -> Job:
    args = (Pointer("data", 4), np.float32(2.5), b"\1\2\3\4")
    launches = [
        Launch("bump", grid, (4, 5, 6), args, 60_000),
        Launch("bump", grid, (4, 5, 6), ("data", *args[1:])),
    ]
    return Job(
        "bump",
        "tiny",
        PTX,
        "bump.ptx",
        {"data": np.arange(3, dtype=np.float32)},
        launches,
        symbols={"s": np.full(4, 7, np.uint8)},
    )


def test_a_job_goes_through_the_driver_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch, StandIn())
    given = job()
    with Gpu() as gpu:
        assert (gpu.name, gpu.capability, gpu.driver_version) == ("Stand-In 1", (7, 5), "12.4")
        found = gpu.run(given, optimised=False)
        assert driver.levels == [0]
    np.testing.assert_array_equal(found["data"], np.array([2.5, 3.5, 2], np.float32))
    np.testing.assert_array_equal(given.buffers["data"], np.array([0, 1, 2], np.float32))
    assert driver.symbol.tolist() == [7] * 4
    dims = [1, 2, 3, 4, 5, 6]
    assert driver.log == [
        (b"bump", "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", 60_000),
        (b"bump", dims, 60_000, b"\1\2\3\4"),
        (b"bump", dims, 0, b"\1\2\3\4"),
        "unload",
    ]
    assert not driver.memory


def test_ptx_of_a_later_version_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch, StandIn())
    given = job()
    given.ptx = PTX.replace("7.0", "9.5")
    with Gpu() as gpu:
        gpu.run(job())
        gpu.run(given)
    assert [image.partition(b"\n")[0] for image in driver.images] == [b".version 7.0", b".version 8.4"]


def test_a_refusal_is_told_in_the_drivers_words_and_frees_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = install(monkeypatch, StandIn())
    with Gpu() as gpu, pytest.raises(GpuError, match="cuLaunchKernel: invalid argument"):
        gpu.run(job(grid=(0, 1, 1)))
    assert not driver.memory
    assert driver.log[-1] == "unload"


def test_old_gpus_are_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, StandIn())
    given = job()
    verdicts = {}
    for target in ("sm_52", "sm_75", "sm_80", "sm_90a", "sm_120"):
        given.ptx = PTX.replace("sm_75", target)
        verdicts[target] = Gpu().runs(given)
    assert verdicts == {"sm_52": True, "sm_75": True, "sm_80": False, "sm_90a": False, "sm_120": False}


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, StandIn(devices=0))
    with pytest.raises(NoGpu, match="finds no device"):
        Gpu()
    broken = install(monkeypatch, StandIn())
    broken.cuInit = lambda flags: (Status.CUDA_ERROR_INVALID_VALUE,)
    with pytest.raises(NoGpu, match=r"no usable CUDA driver: .*invalid argument"):
        Gpu()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(NoGpu, match="bindings are not installed"):
        Gpu()
