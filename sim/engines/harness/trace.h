// The trace as program/trace/schema.py lays it out, and what Python and the harness tell each other.
// sim/engines/abi.py holds the same structures for ctypes; both check the sizes.
#pragma once

#include <cstdint>

#pragma pack(push, 1)
struct Code {
    uint8_t unit, memory, control, sources[6], source_count, destination, count, predicates_read, predicates_written;
    uint8_t size, opcode, dtype, aux;
};
struct Launch {
    uint32_t kernel, grid[3], block[3];
    uint16_t registers;
    uint32_t shared_bytes, ctas, warps_per_cta, first_warp;
};
struct Warp {
    uint32_t launch, cta, index;
    uint64_t first;
    uint32_t length, mask;
};
struct Dynamic {
    uint32_t pc, mask;
    uint64_t value, line;
    uint8_t line_count, passes, memory, flags, barrier, barrier_warps;
};
#pragma pack(pop)
static_assert(sizeof(Code) == 18 && sizeof(Launch) == 46 && sizeof(Warp) == 28 && sizeof(Dynamic) == 30);

constexpr uint8_t FLAG_ARRIVE = 1, FLAG_WAIT = 2, FLAG_ENTER = 8;
// Marks the number of a decompress move (arch/uop.py).
constexpr uint32_t MOVE = 1u << 31;

// One event, as sim/events.py has it.
struct Record {
    uint64_t cycle;
    int16_t core;
    uint16_t event;
    uint32_t spare;
    uint64_t values[6];
};
static_assert(sizeof(Record) == 64);

// What a run needs. The arrays stay Python's.
struct Setup {
    const Code* code;
    const uint32_t* words;    // per pc, the constant part of its uop as the RTL takes it
    const uint8_t* collects;  // per pc: goes through a collector if any lane executes
    const Launch* launches;
    const uint32_t* payloads;  // per launch, as the RTL takes it
    const Warp* warps;
    const Dynamic* dynamic;
    const uint32_t* values;  // rows of 32 lanes
    const uint64_t* lines;
    const uint8_t* immediates;  // 32 bytes per pc
    Record* records;          // buffer for events; null: only counters are wanted
    uint64_t record_capacity;
    uint64_t launch_count;
    uint64_t patience;  // cycles without any event of progress after which the machine is stuck
    uint32_t check_operands;
    uint32_t spare;
};

enum State : uint32_t { RUNNING = 0, FINISHED = 1, DRAIN = 2, MISMATCH = 3, STUCK = 4, PROTOCOL = 5 };

// Where a warp slot stands, for messages.
struct Slot {
    uint32_t row;  // of Setup::warps; ~0: free
    uint32_t filled, issued, retired;
};
