// The device side of CUDA, which `warpbank compile` includes before a source: a file per family.
#pragma once
#include "arithmetic.h"
#include "atomics.h"
#include "barriers.h"
#include "indices.h"
#include "math_names.h"
#include "output.h"
#include "runtime_api.h"
#include "textures.h"
#include "warp.h"
