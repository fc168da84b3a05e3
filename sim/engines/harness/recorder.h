// Events of a cycle: counted always, written into Python's buffer if it gave one.
#pragma once

#include "device.h"
#include "trace.h"

class Recorder {
public:
    explicit Recorder(const Setup& setup) : buffer_{setup.records}, capacity_{setup.record_capacity} {}

    uint64_t counters[device::COUNTERS] = {};
    uint64_t stalls[device::CORES][device::STALLS] = {};
    uint64_t used = 0;  // records in the buffer

    // No room for another cycle's events.
    bool full() const { return buffer_ && used + device::EVENTS_PER_CYCLE + device::TAIL > capacity_; }

    template <int EVENT, class... Values>
    void event(uint64_t cycle, int core, Values... values) {
        const uint64_t fields[] = {uint64_t(values)..., 0};
        device::count<EVENT>(counters, fields);
        if constexpr (EVENT == device::EVENT_scheduler) ++stalls[core][fields[0]];
        if (!buffer_) return;
        Record& record = buffer_[used++];
        record.cycle = cycle;
        record.core = int16_t(core);
        record.event = EVENT;
        record.spare = 0;
        for (size_t place = 0; place < 6; ++place) record.values[place] = place < sizeof...(Values) ? fields[place] : 0;
    }

private:
    Record* buffer_;
    uint64_t capacity_;
};
