// The warps' streams: which row of the trace each warp slot runs, and how far it has come. Follows the CTA dispatcher of the RTL.
#pragma once

#include <algorithm>
#include <vector>

#include "device.h"
#include "trace.h"

class Streams {
public:
    explicit Streams(const Setup& setup) : setup_{setup} {
        for (auto& core : slots) std::fill(std::begin(core), std::end(core), Slot{NONE, 0, 0, 0});
    }

    static constexpr uint32_t NONE = ~0u;
    Slot slots[device::CORES][device::WARPS];

    const Warp& warp(int core, int slot) const { return setup_.warps[slots[core][slot].row]; }
    bool holds(int core, int slot) const { return slots[core][slot].row != NONE; }

    // The row of uop `seq` of the warp in this slot.
    const Dynamic& uop(int core, int slot, uint32_t seq) const { return setup_.dynamic[warp(core, slot).first + seq]; }

    // A launch begins.
    void launch(const Launch& launch) {
        next_ = launch.first_warp;
        warps_per_cta_ = int(launch.warps_per_cta);
        begin_ = 0;
    }

    // A warp slot receives a warp in this cycle. Which warp of the CTA it is follows when all of them are known.
    void start(int core, int slot) { started_[core].push_back(slot); }

    // The cycle is over: the slots that started hold one CTA. Its warps went round robin over the sub-cores from `begin_` on, or from
    // the next sub-core that fits; in a sub-core the earlier warp has the lower slot. False: the slots cannot be a CTA's.
    bool assign() {
        int counts[device::CORES];
        int total = 0;
        for (int core = 0; core < device::CORES; ++core) total += counts[core] = int(started_[core].size());
        if (!total) return true;
        if (total != warps_per_cta_) return false;
        for (int shift = 0; shift < device::CORES; ++shift) {
            const int begin = (begin_ + shift) % device::CORES;
            int wanted[device::CORES] = {};
            for (int index = 0; index < total; ++index) ++wanted[(begin + index) % device::CORES];
            if (!std::equal(counts, counts + device::CORES, wanted)) continue;
            for (auto& core : started_) std::sort(core.begin(), core.end());
            for (int index = 0; index < total; ++index) {
                const int core = (begin + index) % device::CORES;
                slots[core][started_[core][size_t(index / device::CORES)]] = Slot{next_++, 0, 0, 0};
            }
            for (auto& core : started_) core.clear();
            begin_ = (begin + total) % device::CORES;
            return true;
        }
        return false;
    }

private:
    const Setup& setup_;
    uint32_t next_ = 0;
    int warps_per_cta_ = 0;
    int begin_ = 0;
    std::vector<int> started_[device::CORES];
};
