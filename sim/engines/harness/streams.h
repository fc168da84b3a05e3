// The warps' streams: which row of the trace each warp slot runs, and how far it has come.
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
        warps_per_cta_ = launch.warps_per_cta;
    }

    // A warp slot receives a warp in this cycle. Which warp of the CTA it is follows when all of them are known.
    void start(int core, int slot) { started_[core].push_back(slot); }

    // The cycle is over: the slots that started hold the next CTA. Its warps go round robin over the sub-cores from `begin` on; in a
    // sub-core the earlier warp has the lower slot. False: the slots cannot be a CTA's.
    bool assign(int begin) {
        for (auto& core : started_) std::sort(core.begin(), core.end());
        for (size_t index = 0; index < warps_per_cta_; ++index) {
            const size_t core = (size_t(begin) + index) % device::CORES, place = index / device::CORES;
            if (place >= started_[core].size()) return false;
            slots[core][started_[core][place]] = Slot{next_++, 0, 0, 0};
        }
        size_t total = 0;
        for (auto& core : started_) {
            total += core.size();
            core.clear();
        }
        return total == warps_per_cta_;
    }

private:
    const Setup& setup_;
    uint32_t next_ = 0;
    size_t warps_per_cta_ = 0;
    std::vector<int> started_[device::CORES];
};
