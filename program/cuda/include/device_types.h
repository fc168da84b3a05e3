// device_types.h of the CUDA toolkit: what it declares is in the device header.
#pragma once
#include "warpbank/device.h"
