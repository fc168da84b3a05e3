// cuda_bf16.h of the CUDA toolkit.
#pragma once
#include "warpbank/device.h"
#include "warpbank/bfloat16.h"
