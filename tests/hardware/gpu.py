"""Runs a job on a real NVIDIA GPU through the CUDA driver API. Driver and bindings are looked for only when a
GPU is opened."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from tests.hardware.compare import lower_version, newest_ptx, pin_rounding
from warpbank.program.launch import Job, Pointer


class NoGpu(Exception):
    """There is no usable GPU here: no bindings, no driver, no device."""


class GpuError(Exception):
    """The driver refused or failed; the message holds its words."""


class Gpu:
    """The first GPU of the machine, for use in a `with` statement.

    Attributes
    ----------
    name : the device's name.
    capability : its compute capability, (7, 5) for sm_75.
    driver_version : the CUDA version of the driver, "12.4".
    """

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver
        except ImportError as error:
            raise NoGpu(
                f"the CUDA bindings are not installed (pip install 'warpbank[hardware]'): {error}"
            ) from None
        self.driver: Any = driver
        try:
            self._do(driver.cuInit, 0)
            count = self._do(driver.cuDeviceGetCount)
        except Exception as error:  # the bindings raise types of their own if there is no driver library
            raise NoGpu(f"there is no usable CUDA driver: {error}") from None
        if not count:
            raise NoGpu("the CUDA driver finds no device")
        self.device = self._do(driver.cuDeviceGet, 0)
        self.name = self._do(driver.cuDeviceGetName, 256, self.device).split(b"\0")[0].decode()
        attributes = driver.CUdevice_attribute
        major = attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        minor = attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
        self.capability = tuple(
            int(self._do(driver.cuDeviceGetAttribute, which, self.device)) for which in (major, minor)
        )
        version = int(self._do(driver.cuDriverGetVersion))
        self.driver_version = f"{version // 1000}.{version % 1000 // 10}"

    def __enter__(self) -> Gpu:
        self._do(self.driver.cuCtxSetCurrent, self._do(self.driver.cuDevicePrimaryCtxRetain, self.device))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.driver.cuDevicePrimaryCtxRelease(self.device)

    def _do(self, call: Any, *arguments: Any) -> Any:
        """Calls the driver; its first result is a status, what it gives comes after."""
        status, *results = call(*arguments)
        if status != self.driver.CUresult.CUDA_SUCCESS:
            _, text = self.driver.cuGetErrorString(status)
            raise GpuError(f"{call.__name__}: {(text or b'').decode() or status}")
        return results[0] if results else None

    def runs(self, job: Job) -> bool:
        """Whether the GPU is recent enough for the job's PTX."""
        target = next(line.split()[1] for line in job.ptx.splitlines() if line.startswith(".target"))
        digits = "".join(c for c in target.partition("_")[2] if c.isdigit())
        return self.capability >= (int(digits[:-1]), int(digits[-1]))

    def run(self, job: Job, *, optimised: bool = True) -> dict[str, np.ndarray]:
        """Executes all launches and returns the final buffers; `optimised`: as the driver compiles PTX unless
        it is told otherwise, else at its level 0."""
        if job.textures:
            raise GpuError(
                "a job with textures is not run on a GPU here: they are bound in the emulator alone"
            )
        driver = self.driver
        ptx = lower_version(pin_rounding(job.ptx), newest_ptx(self.driver_version))
        levels = [] if optimised else [(driver.CUjit_option.CU_JIT_OPTIMIZATION_LEVEL, 0)]
        module = self._do(
            driver.cuModuleLoadDataEx,
            ptx.encode() + b"\0",
            len(levels),
            [option for option, _ in levels],
            [value for _, value in levels],
        )
        addresses: dict[str, Any] = {}
        try:
            for name, value in job.symbols.items():
                address, _ = self._symbol(module, name)
                self._write(address, value)
            for name, value in job.buffers.items():
                addresses[name] = self._do(driver.cuMemAlloc, max(value.nbytes, 1))
                self._write(addresses[name], value)
            for launch in job.launches:
                self._launch(module, launch, addresses)
            return {name: self._read(addresses[name], value) for name, value in job.buffers.items()}
        finally:
            for address in addresses.values():
                driver.cuMemFree(address)
            driver.cuModuleUnload(module)

    def _symbol(self, module: Any, name: str) -> tuple[Any, int]:
        status, address, size = self.driver.cuModuleGetGlobal(module, name.encode())
        if status != self.driver.CUresult.CUDA_SUCCESS:
            raise GpuError(f"cuModuleGetGlobal: the module has no symbol {name}")
        return address, size

    def _write(self, address: Any, value: np.ndarray) -> None:
        data = np.ascontiguousarray(value)
        self._do(self.driver.cuMemcpyHtoD, address, data.ctypes.data, data.nbytes)

    def _read(self, address: Any, like: np.ndarray) -> np.ndarray:
        data = np.empty(like.shape, like.dtype)
        self._do(self.driver.cuMemcpyDtoH, data.ctypes.data, address, data.nbytes)
        return data

    def _launch(self, module: Any, launch: Any, addresses: dict[str, Any]) -> None:
        """One launch, waited for. Every parameter lies in host memory of its own; the driver copies it to the
        size it knows."""
        driver = self.driver
        function = self._do(driver.cuModuleGetFunction, module, launch.entry.encode())
        if launch.dynamic_shared:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._do(driver.cuFuncSetAttribute, function, attribute, launch.dynamic_shared)
        values = []
        for argument in launch.args:
            if isinstance(argument, str):
                argument = Pointer(argument)
            if isinstance(argument, Pointer):
                argument = np.uint64(int(addresses[argument.buffer]) + argument.offset)
            raw = argument if isinstance(argument, bytes) else argument.tobytes()
            # 16 bytes at least, so that a vector parameter is never read past its end or misaligned.
            values.append(np.frombuffer(raw.ljust(16, b"\0"), np.uint8).copy())
        pointers = np.array([value.ctypes.data for value in values], np.uint64)
        self._do(
            driver.cuLaunchKernel,
            function,
            *launch.grid,
            *launch.block,
            launch.dynamic_shared,
            0,
            pointers.ctypes.data,
            0,
        )
        self._do(driver.cuCtxSynchronize)
