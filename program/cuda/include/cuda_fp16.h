// cuda_fp16.h of the CUDA toolkit.
#pragma once
#include "warpbank/device.h"
#include "warpbank/half.h"
