"""Device memory of a job: where its buffers and variables are, and what a launch's constant bank holds."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from warpbank.program.errors import LaunchError
from warpbank.program.isa import (
    CONST_DYNAMIC_SHARED,
    CONST_NCTAID,
    CONST_NTID,
    CONST_WINDOW,
    GLOBAL_BASE,
    Kernel,
    Parameter,
)
from warpbank.program.launch import Argument, Job, Launch, Pointer
from warpbank.program.textures import handle

#: Buffers start at multiples of this, as cudaMalloc's do, and at least this far from the end of the one
#: before.
ALIGNMENT = 256
MAX_THREADS = 1024


@dataclass(frozen=True)
class Region:
    """A buffer or module variable in global memory."""

    name: str
    what: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.start + self.size

    def __str__(self) -> str:
        return f"{self.what} '{self.name}' ({self.size} bytes)"


def _round_up(n: int, to: int) -> int:
    return -(-n // to) * to


class Device:
    """Device memory of one job, laid out once: global memory, then room for the constant bank, shared and
    local memory of any launch."""

    def __init__(self, job: Job, kernels: Mapping[str, Kernel]) -> None:
        self.job, self.kernels = job, kernels
        self.regions: list[Region] = []
        self.address: dict[str, int] = {}  # of buffers
        self.variable: dict[str, int] = {}  # of module variables
        top = GLOBAL_BASE
        for name, array in job.buffers.items():
            self.address[name] = top
            self.regions.append(Region(name, "buffer", top, array.nbytes))
            top = _round_up(top + array.nbytes, ALIGNMENT) + ALIGNMENT
        variables = {name: v for k in kernels.values() for name, v in k.globals.items()}
        for name, v in variables.items():
            top = _round_up(top, max(ALIGNMENT, v.align))
            self.variable[name] = top
            self.regions.append(Region(name, "variable", top, v.size))
            top = _round_up(top + v.size, ALIGNMENT) + ALIGNMENT
        launched = [(launch, self._kernel(launch)) for launch in job.launches]
        self.const_at = _round_up(top - GLOBAL_BASE, 16)
        self.shared_at = _round_up(self.const_at + max((bank_size(k) for _, k in launched), default=0), 128)
        shared = max((shared_size(k, launch) for launch, k in launched), default=0)
        self.local_at = _round_up(self.shared_at + shared, 128)
        local = max((_warps(launch) * _round_up(k.local_bytes, 4) * 32 for launch, k in launched), default=0)
        size = _round_up(self.local_at + local, 16)
        try:
            words = np.zeros(size // 4 + 64, np.uint32)
        except MemoryError:
            raise LaunchError(
                f"{job.ptx_path}: buffers, variables, shared and local memory take {size} bytes together, "
                "more than there is here."
            ) from None
        self.words, self.bytes = words, words.view(np.uint8)
        self.limits = np.array([(r.start, r.end) for r in self.regions], np.int64).reshape(-1, 2)
        for name, array in job.buffers.items():
            self._put(self.address[name], np.ascontiguousarray(array).tobytes())
        for name, v in variables.items():
            self._put(self.variable[name], v.init)
        for name, v in variables.items():
            for offset, symbol, addend in v.relocations:
                self._put(
                    self.variable[name] + offset, struct.pack("<Q", (self._symbol(symbol) + addend) % 2**64)
                )
        for name, array in job.symbols.items():
            self._fill_symbol(name, array)

    def _kernel(self, launch: Launch) -> Kernel:
        if launch.entry not in self.kernels:
            raise LaunchError(
                f"there is no kernel {launch.entry!r} in {self.job.ptx_path}; it has "
                f"{', '.join(self.kernels)}."
            )
        return self.kernels[launch.entry]

    def _put(self, address: int, content: bytes) -> None:
        at = address - GLOBAL_BASE
        self.bytes[at : at + len(content)] = np.frombuffer(content, np.uint8)

    def _symbol(self, name: str) -> int:
        """Generic address of a module variable."""
        if name in self.variable:
            return self.variable[name]
        for kernel in self.kernels.values():
            if name in kernel.symbols:
                return CONST_WINDOW + kernel.symbols[name][0]
        raise LaunchError(
            f"{self.job.ptx_path}: the initial value of a variable refers to {name!r}, which is not in the "
            "module."
        )

    def _fill_symbol(self, name: str, array: np.ndarray) -> None:
        """Check a symbol the host fills; fill it if it is in global memory."""
        sizes = {k.symbols[name][1] for k in self.kernels.values() if name in k.symbols}
        if name in self.variable:
            sizes.add(next(r.size for r in self.regions if r.name == name and r.what == "variable"))
        if not sizes:
            raise LaunchError(
                f"the job fills symbol {name!r}; no kernel that it launches from {self.job.ptx_path} uses "
                "one."
            )
        if array.nbytes > min(sizes):
            raise LaunchError(
                f"the job fills symbol {name!r} with {array.nbytes} bytes; it holds {min(sizes)}."
            )
        if name in self.variable:
            self._put(self.variable[name], np.ascontiguousarray(array).tobytes())

    def contents(self) -> dict[str, np.ndarray]:
        """Copies of the buffers as they are now, in the job's types and shapes."""
        found = {}
        for name, array in self.job.buffers.items():
            at = self.address[name] - GLOBAL_BASE
            found[name] = self.bytes[at : at + array.nbytes].copy().view(array.dtype).reshape(array.shape)
        return found

    def variables(self) -> dict[str, bytes]:
        """Contents of the module's variables in global memory as they are now."""
        sizes = {r.name: r.size for r in self.regions if r.what == "variable"}
        starts = {name: address - GLOBAL_BASE for name, address in self.variable.items()}
        return {name: self.bytes[at : at + sizes[name]].tobytes() for name, at in starts.items()}

    def constant_bank(self, launch: Launch, kernel: Kernel) -> bytes:
        """Constant bank of a launch: dimensions, parameters, variables."""
        bank = bytearray(bank_size(kernel))
        bank[: len(kernel.constants)] = kernel.constants
        struct.pack_into("<3I", bank, CONST_NTID, *launch.block)
        struct.pack_into("<3I", bank, CONST_NCTAID, *launch.grid)
        struct.pack_into("<I", bank, CONST_DYNAMIC_SHARED, launch.dynamic_shared)
        if len(launch.args) != len(kernel.parameters):
            raise LaunchError(
                f"kernel {kernel.name} has {len(kernel.parameters)} parameters; the launch gives "
                f"{len(launch.args)} arguments."
            )
        for parameter, argument in zip(kernel.parameters, launch.args, strict=True):
            content = self._argument(kernel, parameter, argument)
            bank[parameter.offset : parameter.offset + parameter.size] = content
        for name, slot in kernel.global_slots.items():
            struct.pack_into("<Q", bank, slot, self._symbol(name))
        for name, slot in kernel.texture_slots.items():
            texture = self.job.textures[name]
            struct.pack_into("<Q", bank, slot, self.address[texture.buffer] + texture.offset)
        for offset, name, addend in kernel.constant_relocations:
            struct.pack_into("<Q", bank, offset, (self._symbol(name) + addend) % 2**64)
        for name, array in self.job.symbols.items():
            if name in kernel.symbols:
                content = np.ascontiguousarray(array).tobytes()
                place = kernel.symbols[name][0]
                bank[place : place + len(content)] = content
        return bytes(bank)

    def _argument(self, kernel: Kernel, parameter: Parameter, argument: Argument) -> bytes:
        """Bytes of one argument."""
        if isinstance(argument, str) and argument in self.job.textures:
            argument = np.uint64(handle(self.job.textures, argument))
        elif isinstance(argument, str):
            argument = Pointer(argument)
        if isinstance(argument, Pointer):
            if argument.buffer not in self.address:
                raise LaunchError(
                    f"parameter {parameter.name} of kernel {kernel.name} is given the buffer "
                    f"{argument.buffer!r}; the job has {', '.join(self.address) or 'none'}."
                )
            content = struct.pack("<Q", (self.address[argument.buffer] + argument.offset) % 2**64)
        else:
            content = argument if isinstance(argument, bytes) else argument.tobytes()
        if len(content) != parameter.size:
            raise LaunchError(
                f"parameter {parameter.name} of kernel {kernel.name} takes {parameter.size} bytes "
                f"({parameter.type}); the argument {argument!r} has {len(content)}."
            )
        return content


def bank_size(kernel: Kernel) -> int:
    """Bytes of the kernel's constant bank."""
    return max(
        [len(kernel.constants), CONST_DYNAMIC_SHARED + 4] + [p.offset + p.size for p in kernel.parameters]
    )


def shared_size(kernel: Kernel, launch: Launch) -> int:
    """Shared memory of a CTA, static and dynamic."""
    return max(
        kernel.shared_bytes,
        kernel.dynamic_shared_base + launch.dynamic_shared if launch.dynamic_shared else 0,
    )


def _warps(launch: Launch) -> int:
    return -(-prod(launch.block) // 32)


def check_launch(launch: Launch, kernel: Kernel) -> None:
    """Refuse dimensions that no GPU would launch."""
    for what, dims in (("grid", launch.grid), ("block", launch.block)):
        if len(dims) != 3 or min(dims) < 1:
            raise LaunchError(
                f"kernel {kernel.name} is launched with {what} {tuple(dims)}; each size must be at least 1."
            )
    if prod(launch.block) > MAX_THREADS:
        raise LaunchError(
            f"kernel {kernel.name} is launched with {prod(launch.block)} threads a block, above "
            f"{MAX_THREADS}."
        )
    if kernel.required_block is not None and tuple(launch.block) != tuple(kernel.required_block):
        raise LaunchError(
            f"kernel {kernel.name} is launched with block {tuple(launch.block)}; "
            f"it insists on {tuple(kernel.required_block)} (.reqntid)."
        )
    if prod(launch.grid) >= 2**31:
        raise LaunchError(
            f"kernel {kernel.name} is launched with {prod(launch.grid)} blocks; the most is {2**31 - 1}."
        )
