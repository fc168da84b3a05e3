"""Last-value collector, a scheme from outside the package: `warpbank --load examples/last_value run sgemm
--scheme last-value`. docs/tutorial.md"""

import warpbank.golden.registry
from warpbank.arch.schemes import Row, register_scheme

from .model import LastValue

register_scheme(
    Row(
        name="last-value",
        description="Every source slot of a warp's collector keeps the last value that was read into it.",
        collector="last_value",
        private_collectors=True,
    )
)
warpbank.golden.registry.COLLECTORS["last_value"] = LastValue

try:
    import warpbank.hdl.registry
except ModuleNotFoundError:  # without the extra `rtl` there is the model only
    pass
else:
    from .rtl import LastValueRtl

    warpbank.hdl.registry.COLLECTORS["last_value"] = LastValueRtl
