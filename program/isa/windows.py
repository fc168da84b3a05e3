"""Memory windows: the constant bank, and the windows of generic addresses."""

from __future__ import annotations

# Constant bank: launch dimensions, then parameters, then the module's .const variables.
CONST_NTID = 0x00  # x, y, z: 4 bytes each
CONST_NCTAID = 0x0C
CONST_DYNAMIC_SHARED = 0x18  # bytes of dynamic shared memory of this launch
CONST_PARAMETERS = 0x160

# Generic addresses: a 64-bit address inside one of these windows is shared or local, any other is global.
SHARED_WINDOW = 0x1_0000_0000
LOCAL_WINDOW = 0x2_0000_0000
CONST_WINDOW = 0x3_0000_0000
CODE_WINDOW = 0x4_0000_0000  # addresses of functions: numbers to compare, with no memory behind them
TEXTURE_WINDOW = 0x5_0000_0000  # handles of textures: numbers of that kind too
WINDOW_SIZE = 0x1_0000_0000
#: First device address of global memory.
GLOBAL_BASE = 0x10_0000_0000
