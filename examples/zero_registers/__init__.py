"""Zero-register storage, a scheme from outside the package: `warpbank --load examples/zero_registers run nn
--scheme zero-registers`. docs/tutorial.md"""

from warpbank.arch.schemes import Row, register_scheme
from warpbank.arch.units import StorageUnit

register_scheme(
    Row(
        name="zero-registers",
        description="A register of zeros is one bit; its bank's arrays are neither read nor written.",
        units=(
            StorageUnit(
                name="zero_registers",
                golden=f"{__name__}.model:ZeroRegisters",
                hdl=f"{__name__}.rtl:ZeroRegistersRtl",
                encodes=True,
                priced_as="plain",
            ),
        ),
    )
)
