"""Last-value collector, a scheme from outside the package: `warpbank --load examples/last_value run sgemm
--scheme last-value`. docs/tutorial.md"""

from warpbank.arch.schemes import Row, register_scheme
from warpbank.arch.units import CollectorUnit

register_scheme(
    Row(
        name="last-value",
        description="Every source slot of a warp's collector keeps the last value that was read into it.",
        private_collectors=True,
        units=(
            CollectorUnit(
                name="last_value", golden=f"{__name__}.model:LastValue", hdl=f"{__name__}.rtl:LastValueRtl"
            ),
        ),
    )
)
