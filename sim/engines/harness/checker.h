// The operand checker: an architectural state of its own, built in the order of issue, against what the collectors hold when a uop
// is dispatched. Compared are the active lanes that the warp has written before.
#pragma once

#include <cstring>
#include <vector>

#include "trace.h"

template <int CORES, int WARPS, int COLLECTORS, int TAGS, int LANES>
class Checker {
public:
    struct Wrong {
        uint32_t core, warp, row, pc, reg, lane, expected, found;
    };

    Checker(const Setup& setup)
        : setup_{setup}
        , registers_(size_t{CORES} * WARPS * 256)
        , written_(size_t{CORES} * WARPS * 256)
        , collected_(size_t{CORES} * COLLECTORS * TAGS)
        , next_(size_t{CORES} * COLLECTORS) {}

    uint64_t checked = 0;
    Wrong wrong{};

    void start(int core, int warp) { std::memset(&written_[place(core, warp)], 0, 256 * sizeof(uint32_t)); }

    // A uop issues into a collector: note what it must read, then let it write.
    void allocate(int core, int collector, int warp, uint32_t seq, uint32_t row, const Dynamic& uop) {
        const Code& code = setup_.code[uop.pc];
        const size_t base = place(core, warp);
        const uint32_t mask = uop.mask & LANE_MASK;
        collect(core, collector, {uop.pc, row, uint32_t(warp), mask, seq}, code.sources, uop.mask ? code.source_count : 0);
        if (!uop.mask) return;
        for (int index = 0; index < code.count; ++index) {
            const size_t at = base + code.destination + index;
            const uint32_t* value = setup_.values + (uop.value + index) * 32;
            for (int lane = 0; lane < LANES; ++lane)
                if (mask >> lane & 1) registers_[at].lane[lane] = value[lane];
            written_[at] |= mask;
        }
    }

    // A decompress move of a register issues: it must read what is there, and changes nothing.
    void move(int core, int collector, int warp, uint32_t seq, uint32_t row, uint32_t pc, uint8_t reg) {
        collect(core, collector, {pc, row, uint32_t(warp), LANE_MASK, seq}, &reg, 1);
    }

    // Which of a collector's uops has this number, or -1.
    int tag(int core, int collector, uint32_t seq) const {
        const Collected* held = &collected_[(size_t(core) * COLLECTORS + collector) * TAGS];
        for (int tag = 0; tag < TAGS; ++tag)
            if (held[tag].seq == seq) return tag;
        return -1;
    }

    // It is dispatched: its number may come again, in the slot's next warp.
    void release(int core, int collector, int tag) { collected_[(core * COLLECTORS + collector) * TAGS + tag].seq = ~0u; }

    int sources(int core, int collector, int tag) const { return collected_[(core * COLLECTORS + collector) * TAGS + tag].count; }

    // A collector's uop is dispatched with this operand; false: `wrong` says what is wrong with it.
    bool operand(int core, int collector, int tag, int slot, const uint32_t* found) {
        const Collected& held = collected_[(core * COLLECTORS + collector) * TAGS + tag];
        ++checked;
        if (!std::memcmp(found, held.values[slot].lane, sizeof(Value))) return true;
        const uint32_t lanes = held.mask & held.written[slot];
        for (uint32_t lane = 0; lane < LANES; ++lane) {
            const uint32_t expected = held.values[slot].lane[lane];
            if ((lanes >> lane & 1) && found[lane] != expected) {
                const uint32_t reg = held.sources[slot];
                wrong = {uint32_t(core), held.warp, held.row, held.pc, reg, lane, expected, found[lane]};
                return false;
            }
        }
        return true;
    }

private:
    static constexpr uint32_t LANE_MASK = LANES == 32 ? ~0u : (1u << LANES) - 1;
    struct alignas(LANES % 16 == 0 ? 64 : 4) Value {
        uint32_t lane[LANES];
    };
    struct Collected {
        uint32_t pc, row, warp, mask, seq;
        int count;
        uint8_t sources[6];
        uint32_t written[6];
        Value values[6];
    };

    // Note what a uop must read.
    struct Name {
        uint32_t pc, row, warp, mask, seq;
    };
    void collect(int core, int collector, const Name& name, const uint8_t* sources, int count) {
        const size_t number = size_t(core) * COLLECTORS + collector;
        Collected& held = collected_[number * TAGS + next_[number]];
        if (++next_[number] == TAGS) next_[number] = 0;
        held.pc = name.pc;
        held.row = name.row;
        held.warp = name.warp;
        held.mask = name.mask;
        held.seq = name.seq;
        held.count = count;
        for (int slot = 0; slot < count; ++slot) {
            const size_t at = place(core, int(name.warp)) + sources[slot];
            held.sources[slot] = sources[slot];
            held.written[slot] = written_[at];
            held.values[slot] = registers_[at];
        }
    }

    size_t place(int core, int warp) const { return (size_t(core) * WARPS + warp) * 256; }

    const Setup& setup_;
    std::vector<Value> registers_;
    std::vector<uint32_t> written_;
    std::vector<Collected> collected_;
    std::vector<int> next_;  // per collector, the tag of the next uop
};
