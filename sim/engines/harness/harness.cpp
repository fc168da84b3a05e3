// The testbench of the SM: gives uops, values and memory lines in the cycle in which the RTL asks for them, checks operands at
// dispatch, and counts or records events. Python is called once per batch of cycles, not once per cycle.
//
// device.h is generated for the configuration: its EACH_* macros list the ports of the RTL.

#include <algorithm>
#include <memory>
#include <new>

#include "checker.h"
#include "device.h"
#include "machine.h"
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
        launch_ = next_launch(0);
        if (launch_ == setup_.launch_count) {
            ended_ = true;
        } else {  // taken in the cycle before the first one
            offer(launch_);
            edge();
            begin_launch();
        }
    }

    Status* status() { return &status_; }

    State run(uint64_t until) {
        recorder_.used = 0;
        State state = ended_ ? FINISHED : RUNNING;
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
        waves_ = std::make_unique<VerilatedVcdC>();
        machine_.context().traceEverOn(true);
        machine_.context().trace(waves_.get(), 99);
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
        stop_ = RUNNING;
        answer();
        events();
        if (machine_.unsettled()) fail("the sub-cores and the units that they share wait for each other within a cycle");
        if (device::started(machine_.shared) && !streams_.assign(device::begin(machine_.shared)))
            fail("the slots that started in this cycle are not those of one CTA");
#if VM_TRACE
        if (waves_ && cycle_ >= waves_from_ && cycle_ < waves_to_) waves_->dump(cycle_ * 2);
#endif
        if (stop_ != RUNNING) return stop_;
        edge();
        ++cycle_;
        if (!ctas_left_) {
            end_launch();
            if (ended_) return drained();
        }
        if (!(cycle_ & 1023) && stuck()) return STUCK;
        return RUNNING;
    }

    void edge() {
        machine_.edge([this] {
#if VM_TRACE
            if (waves_ && cycle_ >= waves_from_ && cycle_ < waves_to_) waves_->dump(cycle_ * 2 + 1);
#endif
        });
    }

    // --- Questions of the RTL.

    void answer() {
        for (int core = 0; core < CORES; ++core) {
            if (!machine_.changed(core)) continue;  // or it had asked before, and the edge had changed it
            device::Core& model = machine_.core(core);
#define FILL(valid, warp, uop) \
    if (valid) { \
        fill(core, int(warp), words(uop)); \
        machine_.answered(core); \
    }
            EACH_FILL(model, FILL)
#undef FILL
#define WRITE(valid, warp, seq, reg, value) \
    if (valid) { \
        write(core, int(warp), uint32_t(seq), uint32_t(reg), words(value)); \
        machine_.answered(core); \
    }
            EACH_WRITE(model, WRITE)
#undef WRITE
#define IMMEDIATE(valid, pc, to) \
    if (valid) { \
        std::memcpy(words(to), setup_.immediates + size_t(pc) * 32, 32); \
        machine_.answered(core); \
    }
            EACH_IMMEDIATE(model, IMMEDIATE)
#undef IMMEDIATE
            if (model.overflow) fail("a uop that the load/store unit returned was lost");
        }
        // What the load/store unit reports of a line depends on the answer within the cycle.
#define LINE(valid, core, warp, seq, index, to, sectors) \
    if (valid) { \
        uint64_t touched = 0; \
        line(int(core), int(warp), uint32_t(seq), uint32_t(index), touched); \
        to = touched & ((uint64_t(1) << 57) - 1); \
        sectors = touched >> 57; \
        machine_.heard(); \
    }
        EACH_LINE(machine_.shared, LINE)
#undef LINE
    }

    // The next uop of a warp's stream.
    void fill(int core, int warp, uint32_t* to) {
        Slot& slot = streams_.slots[core][warp];
        if (slot.row == Streams::NONE || slot.filled >= streams_.warp(core, warp).length)
            return fail("a uop is asked for beyond the end of a warp's stream");
        const uint32_t seq = slot.filled++;
        const Dynamic& uop = streams_.uop(core, warp, seq);
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
        if (uop.flags & FLAG_ENTER) put(to, device::UOP_enters, 1);
        put(to, device::UOP_part, ((uop.mask ^ streams_.warp(core, warp).mask) & device::LANE_MASK) != 0);
        put(to, device::UOP_last, seq + 1 == streams_.warp(core, warp).length);
        put(to, device::UOP_lines, uop.line_count);
        put(to, device::UOP_passes, uop.passes);
        recorder_.event<device::EVENT_fill>(cycle_, core, warp, seq);
    }

    // The value of a result register that is written in this cycle.
    void write(int core, int warp, uint32_t seq, uint32_t reg, uint32_t* to) {
        if (seq & MOVE) {
            std::memcpy(to, decompressed_[core][warp].value, 4 * LANES);
            return;
        }
        if (!streams_.holds(core, warp) || seq >= streams_.warp(core, warp).length)
            return fail("a result of a uop that is not there is written");
        const Dynamic& uop = streams_.uop(core, warp, seq);
        const uint32_t index = reg - setup_.code[uop.pc].destination;
        if (!uop.mask || index >= setup_.code[uop.pc].count) return fail("a register is written that its uop does not write");
        std::memcpy(to, setup_.values + (uop.value + index) * 32, 4 * LANES);
    }

    // The memory line that the load/store unit looks up: its number, and above 57 bits the sectors touched.
    void line(int core, int warp, uint32_t seq, uint32_t index, uint64_t& to) {
        if (!streams_.holds(core, warp)) return fail("a line of a warp that is not there is looked up");
        const Dynamic& uop = streams_.uop(core, warp, seq);
        if (index >= uop.line_count) return fail("a line is looked up that its uop does not touch");
        to = setup_.lines[uop.line + index];
    }

    // --- What the RTL reports.

    void events() {
#define EVENT(name, valid, ...) \
    if (valid) event<device::EVENT_##name>(-1, __VA_ARGS__);
        EACH_SHARED_EVENT(machine_.shared, EVENT)
#undef EVENT
        for (int core = 0; core < CORES; ++core) {
            device::Core& model = machine_.core(core);
            // Of a sub-core that has not changed, the events of the cycle before happen again: often the scheduler's alone.
            if (machine_.changed(core) || others_[core]) {
                others_[core] = false;
#define EVENT(name, valid, ...) \
    if (valid) { \
        event<device::EVENT_##name>(core, __VA_ARGS__); \
        if constexpr (device::EVENT_##name != device::EVENT_scheduler) others_[core] = true; \
    }
                EACH_CORE_EVENT(model, EVENT)
#undef EVENT
            } else {
#define EVENT(name, valid, ...) \
    if constexpr (device::EVENT_##name == device::EVENT_scheduler) \
        if (valid) event<device::EVENT_##name>(core, __VA_ARGS__);
                EACH_CORE_EVENT(model, EVENT)
#undef EVENT
            }
        }
    }

    template <int EVENT, class... Values>
    void event(int core, Values... values) {
        recorder_.event<EVENT>(cycle_, core, values...);
        note<EVENT>(core, values...);
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
        } else if constexpr (EVENT == device::EVENT_move) {
            decompressed_[core][fields[0]].reg = uint8_t(fields[2]);
        } else if constexpr (EVENT == device::EVENT_allocate) {
            if (setup_.check_operands || NUMBERED) allocate(core, int(fields[0]), int(fields[1]), uint32_t(fields[2]));
        } else if constexpr (EVENT == device::EVENT_dispatch) {
            dispatch(core, int(fields[0]), int(fields[2]), uint32_t(fields[3]));
        } else if constexpr (EVENT == device::EVENT_retire) {
            ++streams_.slots[core][fields[0]].retired;
        } else if constexpr (EVENT == device::EVENT_cta_end) {
            --ctas_left_;
        }
    }

    void allocate(int core, int collector, int warp, uint32_t seq) {
        const uint32_t before = seq & ~MOVE;  // the uop that a move goes before
        if (!streams_.holds(core, warp) || before >= streams_.warp(core, warp).length) return fail("a uop issues that is not there");
        if (seq & MOVE) {
            const uint32_t row = streams_.slots[core][warp].row;
            return checker_.move(core, collector, warp, seq, row, streams_.uop(core, warp, before).pc, decompressed_[core][warp].reg);
        }
        checker_.allocate(core, collector, warp, seq, streams_.slots[core][warp].row, streams_.uop(core, warp, seq));
    }

    // Compare all operands of the uop that leaves its collector. A move's result is what it has read.
    void dispatch(int core, int collector, int warp, uint32_t seq) {
        const bool known = setup_.check_operands || NUMBERED;
        const int tag = known ? checker_.tag(core, collector, seq) : 0;
        if (tag < 0) return fail("a uop is dispatched that its collector does not hold");
        if (seq & MOVE) std::memcpy(decompressed_[core][warp].value, operands_.at(core, collector, tag, 0), 4 * LANES);
        for (int slot = 0; setup_.check_operands && slot < checker_.sources(core, collector, tag); ++slot) {
            if (!checker_.operand(core, collector, tag, slot, operands_.at(core, collector, tag, slot))) {
                stop_ = MISMATCH;
                std::memcpy(status_.wrong, &checker_.wrong, sizeof status_.wrong);
                return;
            }
        }
        if (known) checker_.release(core, collector, tag);
    }

    // --- Launches.

    // The first launch from `number` on that has any CTA.
    uint64_t next_launch(uint64_t number) const {
        while (number < setup_.launch_count && !setup_.launches[number].ctas) ++number;
        return number;
    }

    // Offer a launch to the RTL, which takes it in the cycle in which the one before ends.
    void offer(uint64_t number) {
        const bool any = number < setup_.launch_count;
        device::offer(machine_.shared, any, any ? setup_.payloads + number * device::LAUNCH_WORDS : nullptr);
        machine_.heard();
    }

    // The RTL has taken the launch that was offered.
    void begin_launch() {
        launched_ = cycle_;
        ctas_left_ = setup_.launches[launch_].ctas;
        streams_.launch(setup_.launches[launch_]);
        offer(next_launch(launch_ + 1));
    }

    // All CTAs of the launch have ended in the cycle before this one.
    void end_launch() {
        launch_cycles_[launch_] = cycle_ - launched_;
        launch_ = next_launch(launch_ + 1);
        if (launch_ < setup_.launch_count) return begin_launch();
        ended_ = true;
        status_.ended = cycle_;
    }

    // No event that moves anything on for longer than anything takes.
    bool stuck() {
        uint64_t moves = 0;
        for (int counter : device::PROGRESS) moves += recorder_.counters[counter];
        if (moves != moves_) {
            moves_ = moves;
            moved_ = cycle_;
        }
        // Lines that the L2 lacks wait for the DRAM, without bound, and who asks next waits for all of them.
        const uint64_t misses = recorder_.counters[device::L2_MISSES];
        if (misses != misses_) {
            dram_free_ = std::max(dram_free_, cycle_) + (misses - misses_) * device::DRAM_INTERVAL;
            misses_ = misses;
        }
        return cycle_ > std::max(moved_, dram_free_) + setup_.patience;
    }

    // The run is over, but the L2 still serves what was sent before.
    State drained() {
        for (int count = 0; count < device::TAIL; ++count) {
#define EVENT(name, valid, ...) \
    if constexpr (device::EVENT_##name == device::EVENT_l2_access) \
        if (valid) recorder_.event<device::EVENT_##name>(cycle_ + count, -1, __VA_ARGS__);
            EACH_SHARED_EVENT(machine_.shared, EVENT)
#undef EVENT
            edge();
        }
        return FINISHED;
    }

    void fail(const char* text) {
        if (stop_ != RUNNING) return;
        stop_ = PROTOCOL;
        status_.message = text;
    }

    const Setup setup_;
    Recorder recorder_;
    Checker<CORES, device::WARPS, device::COLLECTORS, device::TAGS, LANES> checker_;
    Streams streams_;
    // Collectors hold several uops, so that an operand has to be looked for even where it is not compared.
    static constexpr bool NUMBERED = device::TAGS > 1;
    struct {
        uint8_t reg;
        uint32_t value[LANES];
    } decompressed_[CORES][device::WARPS] = {};  // the one decompress move that a warp may have in flight
    std::vector<uint64_t> launch_cycles_;
    Status status_{};
    Machine machine_;
    const device::Operands operands_{machine_};
    bool others_[CORES] = {};  // a sub-core had other events than its scheduler's
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> waves_;
    uint64_t waves_from_ = 0, waves_to_ = 0;
#endif
    uint64_t cycle_ = 0;
    uint64_t launch_ = 0;    // the current one
    uint64_t launched_ = 0;  // cycle in which it began
    uint64_t ctas_left_ = 0;
    uint64_t moves_ = 0, moved_ = 0;
    uint64_t misses_ = 0, dram_free_ = 0;
    bool ended_ = false;
    State stop_ = RUNNING;
};

}  // namespace

extern "C" {

Harness* warpbank_new(const Setup* setup) { return new (std::nothrow) Harness(*setup); }
Status* warpbank_status(Harness* harness) { return harness->status(); }
uint32_t warpbank_run(Harness* harness, uint64_t until) { return harness->run(until); }
void warpbank_delete(Harness* harness) { delete harness; }
#if VM_TRACE
void warpbank_open_waves(Harness* harness, const char* path, uint64_t start, uint64_t end) { harness->open_waves(path, start, end); }
void warpbank_close_waves(Harness* harness) { harness->close_waves(); }
#endif
}
