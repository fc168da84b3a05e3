// cuda_fp16.hpp of the CUDA toolkit.
#pragma once
#include "cuda_fp16.h"
