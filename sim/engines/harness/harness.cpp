// The testbench of the SM: gives uops, values and memory lines in the cycle in which the RTL asks for them, checks operands at
// dispatch, and counts or records events. Python is called once per batch of cycles, not once per cycle.
//
// device.h is generated for the configuration: its EACH_* macros list the ports of the RTL.

#include <memory>
#include <new>

#include "checker.h"
#include "device.h"
#include "recorder.h"
#include "streams.h"
#include "trace.h"

namespace {

using device::CORES;
using device::LANES;

// Put `value` into the bits from `offset` on, which hold zeros.
inline void put(uint32_t* words, int offset, uint64_t value) {
    words[offset >> 5] |= uint32_t(value << (offset & 31));
    for (int place = 32 - (offset & 31); place < 64 && value >> place; place += 32) words[(offset + place) >> 5] |= uint32_t(value >> place);
}

template <class Signal>
inline uint32_t* words(Signal& signal) {
    return reinterpret_cast<uint32_t*>(&signal);
}

// What Python reads after every call.
struct Status {
    uint64_t cycle;
    uint64_t checked;
    uint64_t records;
    uint64_t ended;  // cycle in which the last launch ended
    uint64_t launches_done;
    uint64_t* counters;
    uint64_t* stalls;
    Slot* slots;
    uint64_t* launch_cycles;
    uint32_t wrong[8];  // Checker::Wrong
    const char* message;
};

class Harness {
public:
    explicit Harness(const Setup& setup)
        : setup_(setup), recorder_{setup_}, checker_{setup_}, streams_{setup_}, launch_cycles_(setup.launch_count) {
        status_.counters = recorder_.counters;
        status_.stalls = &recorder_.stalls[0][0];
        status_.slots = &streams_.slots[0][0];
        status_.launch_cycles = launch_cycles_.data();
        status_.message = "";
        reset();
        next_launch();
    }

    Status* status() { return &status_; }

    State run(uint64_t until) {
        recorder_.used = 0;
        State state = RUNNING;
        while (state == RUNNING && cycle_ < until) {
            if (recorder_.full()) {
                state = DRAIN;
                break;
            }
            state = step();
        }
        status_.cycle = cycle_;
        status_.checked = checker_.checked;
        status_.records = recorder_.used;
        return state;
    }

#if VM_TRACE
    void open_waves(const char* path, uint64_t start, uint64_t end) {
        context_.traceEverOn(true);
        waves_ = std::make_unique<VerilatedVcdC>();
        model_->trace(waves_.get(), 99);
        waves_->open(path);
        waves_from_ = start;
        waves_to_ = end;
    }
    void close_waves() {
        if (waves_) waves_->close();
        waves_.reset();
    }
#endif

private:
    // One clock cycle: read what the RTL asks and reports, answer, give the clock edge.
    State step() {
        device::Model& model = *model_;
        stop_ = RUNNING;
        answer(model);
        events(model);
        if (!streams_.assign()) return protocol("the slots that started in this cycle are not those of one CTA");
#if VM_TRACE
        if (waves_ && cycle_ >= waves_from_ && cycle_ < waves_to_) waves_->dump(cycle_ * 2);
#endif
        if (stop_ != RUNNING) return stop_;
        edge();
        ++cycle_;
        if (launched_ && !ctas_left_) end_launch();
        if (finished_) return drained();
        if (!(cycle_ & 1023) && stuck()) return STUCK;
        return RUNNING;
    }

    void edge() {
        model_->clk = 1;
        model_->eval();
#if VM_TRACE
        if (waves_ && cycle_ >= waves_from_ && cycle_ < waves_to_) waves_->dump(cycle_ * 2 + 1);
#endif
        device::fall(*model_);
    }

    void reset() {
        model_->rst = 1;
        model_->clk = 0;
        model_->eval();
        model_->clk = 1;
        model_->eval();
        model_->clk = 0;
        model_->eval();
        model_->rst = 0;
        model_->eval();
    }

    // --- Questions of the RTL.

    void answer(device::Model& model) {
#define FILL(core, valid, warp, uop) \
    if (valid) fill(core, int(warp), words(uop));
        EACH_FILL(model, FILL)
#undef FILL
#define WRITE(core, valid, warp, seq, reg, value) \
    if (valid) write(core, int(warp), uint32_t(seq), uint32_t(reg), words(value));
        EACH_WRITE(model, WRITE)
#undef WRITE
    }

    // The next uop of a warp's stream.
    void fill(int core, int warp, uint32_t* to) {
        Slot& slot = streams_.slots[core][warp];
        const Warp& row = setup_.warps[slot.row];
        if (slot.row == Streams::NONE || slot.filled >= row.length) {
            fail("a uop is asked for beyond the end of a warp's stream");
            return;
        }
        const uint32_t seq = slot.filled++;
        const Dynamic& uop = setup_.dynamic[row.first + seq];
        std::memcpy(to, setup_.words + size_t(uop.pc) * device::UOP_WORDS, 4 * device::UOP_WORDS);
        put(to, device::UOP_seq, seq);
        put(to, device::UOP_mask, uop.mask & device::LANE_MASK);
        put(to, device::UOP_memory, uop.memory);
        put(to, device::UOP_collects, uop.mask && setup_.collects[uop.pc]);
        if (uop.flags & FLAG_ARRIVE) {
            put(to, device::UOP_arrive, 1);
            put(to, device::UOP_wait, uop.flags & FLAG_WAIT ? 1 : 0);
            put(to, device::UOP_barrier, uop.barrier);
            put(to, device::UOP_barrier_warps, uop.barrier_warps);
        }
        put(to, device::UOP_last, seq + 1 == row.length);
        put(to, device::UOP_lines, uop.line_count);
        put(to, device::UOP_passes, uop.passes);
        recorder_.event<device::EVENT_fill>(cycle_, core, warp, seq);
    }

    // The value of a result register that is written in this cycle.
    void write(int core, int warp, uint32_t seq, uint32_t reg, uint32_t* to) {
        if (!streams_.holds(core, warp)) {
            fail("a result of a warp that is not there is written");
            return;
        }
        const Dynamic& uop = streams_.uop(core, warp, seq);
        const uint32_t index = reg - setup_.code[uop.pc].destination;
        if (index >= setup_.code[uop.pc].count || seq >= streams_.warp(core, warp).length) {
            fail("a register is written that its uop does not write");
            return;
        }
        std::memcpy(to, setup_.values + (uop.value + index) * 32, 4 * LANES);
    }

    // The memory line that the load/store unit looks up.
    void line(int core, int warp, uint32_t seq, uint32_t index, uint64_t& to) {
        if (!streams_.holds(core, warp)) return fail("a line of a warp that is not there is looked up");
        const Dynamic& uop = streams_.uop(core, warp, seq);
        if (index >= uop.line_count) return fail("a line is looked up that its uop does not touch");
        to = setup_.lines[uop.line + index];
    }

    // --- What the RTL reports.

    void events(device::Model& model) {
#define EVENT(core, name, valid, ...) \
    if (valid) { \
        recorder_.event<device::EVENT_##name>(cycle_, core, __VA_ARGS__); \
        note<device::EVENT_##name>(core, __VA_ARGS__); \
    }
        EACH_EVENT(model, EVENT)
#undef EVENT
    }

    // What the testbench itself learns from an event.
    template <int EVENT, class... Values>
    void note(int core, Values... values) {
        const uint64_t fields[] = {uint64_t(values)...};
        if constexpr (EVENT == device::EVENT_warp_start) {
            streams_.start(core, int(fields[0]));
            checker_.start(core, int(fields[0]));
        } else if constexpr (EVENT == device::EVENT_issue) {
            ++streams_.slots[core][fields[0]].issued;
        } else if constexpr (EVENT == device::EVENT_allocate) {
            if (setup_.check_operands) allocate(core, int(fields[0]), int(fields[1]), uint32_t(fields[2]));
        } else if constexpr (EVENT == device::EVENT_dispatch) {
            if (setup_.check_operands) dispatch(core, int(fields[0]));
        } else if constexpr (EVENT == device::EVENT_retire) {
            ++streams_.slots[core][fields[0]].retired;
        } else if constexpr (EVENT == device::EVENT_cta_end) {
            --ctas_left_;
        }
    }

    void allocate(int core, int collector, int warp, uint32_t seq) {
        if (!streams_.holds(core, warp) || seq >= streams_.warp(core, warp).length) return fail("a uop issues that is not there");
        checker_.allocate(core, collector, warp, streams_.slots[core][warp].row, streams_.uop(core, warp, seq));
    }

    // Compare all operands of the uop that leaves its collector.
    void dispatch(int core, int collector) {
        for (int slot = 0; slot < checker_.sources(core, collector); ++slot) {
            if (!checker_.operand(core, collector, slot, device::operand(*model_, core, collector, slot))) {
                stop_ = MISMATCH;
                std::memcpy(status_.wrong, &checker_.wrong, sizeof status_.wrong);
                return;
            }
        }
    }

    // --- Launches.

    // Make the next launch current that has any CTA; without one the run is over.
    void next_launch() {
        while (launch_ < setup_.launch_count && !setup_.launches[launch_].ctas) ++launch_;
        if (launch_ == setup_.launch_count) {
            ended_ = true;
            status_.ended = cycle_;
            return;
        }
        ctas_left_ = setup_.launches[launch_].ctas;
        streams_.launch(setup_.launches[launch_]);
        device::launch(*model_, setup_.launches[launch_]);
        launched_ = cycle_;
    }

    // All CTAs of the launch have ended in the cycle before this one.
    void end_launch() {
        launch_cycles_[launch_++] = cycle_ - launched_;
        ++status_.launches_done;
        next_launch();
    }

    // No event that moves anything on for longer than anything takes.
    bool stuck() {
        uint64_t moves = 0;
        for (int counter : device::PROGRESS) moves += recorder_.counters[counter];
        if (moves != moves_) {
            moves_ = moves;
            moved_ = cycle_;
        }
        return cycle_ - moved_ > setup_.patience;
    }

    State protocol(const char* text) {
        fail(text);
        return stop_;
    }

    void fail(const char* text) {
        if (stop_ == RUNNING) {
            stop_ = PROTOCOL;
            status_.message = text;
        }
    }

    Setup setup_;
    Recorder recorder_;
    Checker<CORES, device::WARPS, device::COLLECTORS, LANES> checker_;
    Streams streams_;
    std::vector<uint64_t> launch_cycles_;
    Status status_{};
    VerilatedContext context_;
    std::unique_ptr<device::Model> model_ = std::make_unique<device::Model>(&context_);
    uint64_t cycle_ = 0;
    State stop_ = RUNNING;
};
}
