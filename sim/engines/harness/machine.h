// The SM: the models of its sub-cores and of the units that they share, clocked together. A sub-core whose registers no edge
// would change, by its own netlist (sim/engines/quiet.py), is not evaluated.
#pragma once

#include <memory>
#include <string>

#include "device.h"

class Machine {
public:
    using Core = device::Core;
    static constexpr int CORES = device::CORES;

    Machine() {
        for (int number = 0; number < CORES; ++number) {
            cores_[number] = std::make_unique<Core>(&context_, ("core_" + std::to_string(number)).c_str());
            cores_[number]->clk = 0;
            cores_[number]->eval();
        }
        shared.clk = shared.late = 0;
        shared.eval();
        for (int number = 0; number < CORES; ++number) device::tell(number, core(number), shared);
        heard();
        for (bool& changed : changed_) changed = true;
    }

    Core& core(int number) { return *cores_[number]; }

    // Whether anything that a sub-core reports may be new in this cycle.
    bool changed(int core) const { return changed_[core]; }

    // The testbench has set inputs of a sub-core; the edge takes them.
    void answered(int core) { answered_[core] = true; }

    // The testbench has set inputs of the shared units.
    void heard() {
        late();
        settle();
    }

    // Sub-cores and shared units have not agreed: what they tell each other is a loop.
    bool unsettled() const { return unsettled_; }

    // The clock edge. What follows in the shared units is made of the sub-cores' new outputs, so that these come first.
    template <class Middle>
    void edge(Middle middle) {
        for (int number = 0; number < CORES; ++number) {
            Core& core = *cores_[number];
            changed_[number] = !device::GATED || answered_[number] || device::changes(core);
            answered_[number] = false;
            if (!changed_[number]) continue;
            core.clk = 1;
            core.eval();
            device::tell(number, core, shared);
        }
        shared.clk = shared.late = 1;
        shared.eval();
        settle();
        middle();  // for waves: the clock is high
        for (auto& core : cores_) device::fall(*core);
        device::fall(shared);
    }

private:
    VerilatedContext context_;
    std::unique_ptr<Core> cores_[CORES];
    bool changed_[CORES], answered_[CORES] = {}, unsettled_ = false;

    // Evaluate the inputs of the shared units.
    void late() {
        device::fall_late(shared);
        shared.late = 1;
        shared.eval();
        device::fall_late(shared);
    }

    // Sub-cores hear of the shared units, and tell them what follows of that in the cycle, until nothing is new.
    void settle() {
        for (int round = 0; round < 100; ++round) {
            bool told = false;
            for (int number = 0; number < CORES; ++number) {
                if (!device::hear(number, shared, *cores_[number])) continue;
                cores_[number]->eval();
                changed_[number] = true;
                told |= device::tell(number, *cores_[number], shared);
            }
            if (!told) return;
            late();
        }
        unsettled_ = true;
    }

public:
    device::Shared shared{&context_, "shared"};
    VerilatedContext& context() { return context_; }
};
