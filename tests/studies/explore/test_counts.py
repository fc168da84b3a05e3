"""Counts and levels of RTL against designs whose logic is known."""

from __future__ import annotations

from amaranth import Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib.memory import Memory

from warpbank.studies.explore.counts import KINDS, counts
from warpbank.studies.explore.levels import levels
from warpbank.synth.netlist import to_rtlil


class Design(Elaboratable):
    """Design with the ports that `ports` lists, and what `build` puts into its module."""

    def __init__(self, build: object) -> None:
        self.build = build
        self.a, self.b, self.choose = Signal(8), Signal(8), Signal()
        self.o = Signal(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        assert callable(self.build)
        self.build(m, self)
        return m


def rtlil(build: object) -> str:
    """RTLIL of a design."""
    import amaranth.back.rtlil as back

    design = Design(build)
    return str(back.convert(design, ports=[design.a, design.b, design.choose, design.o], emit_src=False))


def bits(build: object) -> dict[str, float]:
    """Bits by kind that are not 0."""
    return {kind: amount for kind, amount in counts(rtlil(build))["bits"].items() if amount}


def test_each_kind_of_logic_is_counted_by_its_bits() -> None:
    def gates(m: Module, d: Design) -> None:
        m.d.comb += d.o.eq((d.a & d.b) ^ d.a)

    def choice(m: Module, d: Design) -> None:
        m.d.comb += d.o.eq(Mux(d.choose, d.a, d.b))

    def adder(m: Module, d: Design) -> None:
        m.d.comb += d.o.eq(d.a + d.b)

    def flops(m: Module, d: Design) -> None:
        m.d.sync += d.o.eq(d.a)

    assert bits(gates) == {"gates": 16.0}
    assert bits(choice) == {"choices": 8.0}
    assert bits(adder)["arithmetic"] == 8.0
    found = bits(flops)
    assert found["flops"] == 8.0
    assert set(found) <= {"flops", "choices"}  # the reset


def test_what_a_switch_assigns_is_a_choice() -> None:
    def chosen(m: Module, d: Design) -> None:
        with m.Switch(d.a[:2]):
            with m.Case(0):
                m.d.comb += d.o.eq(d.b)
            with m.Case(1):
                m.d.comb += d.o[:4].eq(d.a[4:])

    assert bits(chosen)["choices"] >= 12.0


def memory(shape: int, depth: int, domain: str, *places: object) -> object:
    """Design with a memory that is written, and read at each place."""

    def build(m: Module, d: Design) -> None:
        m.submodules.memory = made = Memory(shape=shape, depth=depth, init=[])
        write = made.write_port()
        m.d.comb += [write.addr.eq(d.a), write.data.eq(Cat(d.b, d.a)), write.en.eq(d.choose)]
        seen = []
        for place in places:
            read = made.read_port(domain=domain)
            m.d.comb += read.addr.eq(place if place is not None else d.b)
            seen.append(read.data[:8])
        m.d.comb += d.o.eq(seen[0] if len(seen) == 1 else Mux(d.choose, *seen))

    return build


def test_memories_are_told_apart_as_synthesis_does() -> None:
    assert counts(rtlil(memory(512, 64, "sync", None)))["memories"] == [[64, 512, 1, 1, 1, True, 1]]
    assert counts(rtlil(memory(512, 8, "comb", None, Const(3, 3))))["memories"] == [
        [8, 512, 2, 1, 1, False, 1]
    ]
    found = counts(rtlil(memory(16, 4, "comb", None)))
    assert found["memories"] == []
    assert found["bits"]["memory_bits"] == 64
    assert found["bits"]["memory_ports"] == 128


def test_a_chain_is_as_long_as_its_gates() -> None:
    def chain(length: int) -> object:
        def build(m: Module, d: Design) -> None:
            value = d.a
            for place in range(length):
                word = Signal(8, name=f"word{place}")
                m.d.comb += word.eq(value & d.b if place % 2 else value | d.b)
                value = word
            m.d.comb += d.o.eq(value)

        return build

    assert levels(rtlil(chain(12))) - levels(rtlil(chain(5))) == 7.0


def test_a_path_leads_through_modules_and_ends_at_registers() -> None:
    class Inner(Elaboratable):
        def __init__(self) -> None:
            self.i, self.o = Signal(8), Signal(8)

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += self.o.eq(self.i & 0x55)
            return m

    def through(registered: bool) -> object:
        def build(m: Module, d: Design) -> None:
            m.submodules.one = one = Inner()
            m.submodules.two = two = Inner()
            m.d.comb += one.i.eq(d.a)
            (m.d.sync if registered else m.d.comb).__iadd__(two.i.eq(one.o))
            m.d.comb += d.o.eq(two.o)

        return build

    assert levels(rtlil(through(registered=False))) == 2.0
    assert levels(rtlil(through(registered=True))) < 4.0
    assert levels(rtlil(through(registered=True))) >= 1.0


def test_a_loop_of_words_ends() -> None:
    def loop(m: Module, d: Design) -> None:
        word = Signal(8)
        m.d.comb += [word[0].eq(d.a[0]), *(word[bit].eq(word[bit - 1] & d.b[bit]) for bit in range(1, 8))]
        m.d.comb += d.o.eq(word)

    assert levels(rtlil(loop)) > 0


def test_a_shipped_unit_has_every_number() -> None:
    from warpbank.arch.config import preset
    from warpbank.arch.schemes import BASELINE, parse_scheme
    from warpbank.synth.units import make

    scheme = parse_scheme(BASELINE.name)
    found = counts(to_rtlil(make("ocu", preset("tiny"), scheme), "ocu"))
    assert set(found["bits"]) == set(KINDS)
    assert found["bits"]["flops"] > 0
    assert found["levels"] > 0
