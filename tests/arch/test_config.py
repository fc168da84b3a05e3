"""Configuration: presets, overrides, files, and errors by message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpbank.arch.config import (
    PRESETS,
    SOURCES,
    CollectorConfig,
    L1Config,
    SmConfig,
    SubCoreConfig,
    UnitConfig,
    config_hash,
    field_paths,
    from_dict,
    load_config,
    preset,
    with_overrides,
)
from warpbank.arch.register_files import TABLE2
from warpbank.arch.schemes import parse_scheme
from warpbank.arch.uop import Unit


def shape(name: str) -> tuple[int, int, int, int, int]:
    config = preset(name)
    core = config.sub_core
    return config.sub_cores, core.warps, core.banks, core.rows, core.collectors


def test_presets_are_those_of_the_papers() -> None:
    assert list(PRESETS) == [
        "turing",
        "turing-accelsim",
        "pascal",
        "maxwell",
        "fermi",
        "fermi-gscalar",
        "fermi-renaming",
        "tiny",
    ]
    assert shape("turing") == (4, 8, 2, 256, 2)
    assert shape("turing-accelsim") == (4, 8, 2, 256, 8)
    assert shape("pascal") == (4, 8, 8, 64, 8)
    assert preset("pascal").sub_core.collector.allocation == "shared"
    assert shape("maxwell") == (1, 64, 16, 128, 16)
    assert shape("fermi") == (1, 48, 16, 64, 16)
    assert shape("fermi-gscalar") == (2, 24, 8, 64, 8)
    assert shape("fermi-renaming") == (1, 48, 4, 256, 16)
    assert shape("tiny")[:2] == (1, 8)
    assert preset("tiny").lanes == 4
    kilobytes = {name: preset(name).register_file_bytes // 1024 for name in PRESETS}
    large = {"turing": 256, "turing-accelsim": 256, "pascal": 256, "maxwell": 256}
    assert kilobytes == large | {"fermi": 128, "fermi-gscalar": 128, "fermi-renaming": 128, "tiny": 8}


def test_bow_alone_gives_each_warp_a_collector() -> None:
    """The baseline's collectors are anybody's; a collector per warp is the scheme's change."""
    machine = preset("pascal")
    assert parse_scheme("baseline").machine(machine) == machine
    collectors = parse_scheme("bow-wr").machine(machine).sub_core
    assert (collectors.collector.allocation, collectors.collectors) == ("per_warp", machine.sub_core.warps)


def test_two_sub_cores_of_fermi_are_one_of_twice_the_size() -> None:
    """Warps, banks, collectors and the rate of every unit, of both sub-cores together."""
    one, two = preset("fermi"), preset("fermi-gscalar")
    for name in ("warps", "banks", "collectors"):
        assert getattr(one.sub_core, name) == two.sub_cores * getattr(two.sub_core, name)
    for name in ("alu", "fma", "sfu", "tensor", "fp64"):
        single, half = (getattr(machine.sub_core.execute, name) for machine in (one, two))
        assert (half.latency, half.interval) == (single.latency, two.sub_cores * single.interval)


def test_sources_name_fields_of_machines() -> None:
    for name, places in SOURCES.items():
        assert set(places) <= set(field_paths(preset(name)))
        assert all(re.match(r"(section|Table|Fig\.) [\dIVX]", place) for place in places.values())


def test_derived_widths() -> None:
    core = preset("fermi").sub_core
    assert (core.bank_width, core.row_width, core.warp_width, core.collector_width, core.slot_width) == (
        4,
        6,
        6,
        4,
        3,
    )
    assert core.queue_depth == 96
    assert core.warp_registers == 1024
    config = preset("turing")
    assert (config.warps, config.schedulers, config.value_width, config.lane_mask) == (
        32,
        4,
        1024,
        0xFFFFFFFF,
    )
    assert [config.registers_per_warp(count) for count in (0, 1, 8, 9, 255)] == [8, 8, 8, 16, 256]
    assert config.rows_per_warp(9) == 8
    assert config.sub_core.execute.unit(Unit.FP64) == UnitConfig(40, 32)
    assert config.sub_core.execute.unit(Unit.LSU) == UnitConfig(1, 1)


def test_hash_names_the_machine_not_the_preset() -> None:
    turing = preset("turing")
    assert config_hash(turing) == config_hash(from_dict(turing.to_dict()))
    assert len({config_hash(preset(name)) for name in PRESETS}) == len(PRESETS)
    assert config_hash(with_overrides(turing, ["sub_core.banks=4"])) != config_hash(turing)
    assert config_hash(from_dict({**turing.to_dict(), "preset": "mine"})) == config_hash(turing)


def test_overrides() -> None:
    config = with_overrides(
        preset("turing"), ["sub_core.banks=4", "sub_core.rows = 0x80", "sub_core.front_end.scheduler='lrr'"]
    )
    assert (config.sub_core.banks, config.sub_core.rows, config.sub_core.front_end.scheduler) == (
        4,
        128,
        "lrr",
    )
    assert preset("turing").sub_core.banks == 2
    both = with_overrides(
        preset("turing"), ["sub_core.collector.allocation=per_warp", "sub_core.collectors=8"]
    )
    assert both.sub_core.collectors == 8


def test_every_field_can_be_overridden() -> None:
    config = preset("turing")
    for path in field_paths(config):
        value: object = config
        for part in path.split("."):
            value = getattr(value, part)
        assert with_overrides(config, [f"{path}={value}"]) == config


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "sub_core.bank=4",
            r"Unknown configuration field of sub_core 'bank'. Did you mean banks\? Known: warps, banks, rows",
        ),
        ("banks=4", r"A field of that name is sub_core\.banks\."),
        (
            "sub_core=3",
            r"sub_core is a group of fields \(warps, .*name one of them, for example sub_core\.warps\.",
        ),
        ("lanes.x=2", r"lanes is a single field and has no 'x' in it\."),
        ("sub_core.banks=many", r"sub_core\.banks takes a whole number, such as 2, not 'many'\."),
        ("sub_core.banks=0", r"SubCoreConfig\.banks must be a whole number \(banks\), 1 to 128, not 0\."),
        ("sub_core.banks=3", r"banks must be a power of two, since the bank of a register is the low bits"),
        (
            "sub_core.front_end.scheduler=fair",
            r"must be one of 'scheme', 'lrr', 'gto', 'cache_aware', 'two_level', not 'fair'\.",
        ),
        ("sub_core.collector.allocation=per_warp", r"collectors must equal warps \(8\)"),
        (
            "l1.sets=3",
            r"L1Config\.sets must be a power of two, since low address bits select the set, not 3\.",
        ),
        ("preset=mine", r"Unknown configuration field 'preset'"),
        (
            "sub_core.banks",
            r"An override is written field=value, for example sub_core\.banks=4, not 'sub_core\.banks'; or "
            r"it "
            r"names a main register file: rf1, ",
        ),
    ],
)
def test_wrong_overrides(override: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        with_overrides(preset("turing"), [override])


def test_unknown_preset() -> None:
    with pytest.raises(
        ValueError,
        match=r"Unknown preset 'turning'\. Did you mean turing\? Known: turing, turing-accelsim, pascal",
    ):
        preset("turning")


def test_construction_is_checked() -> None:
    with pytest.raises(
        ValueError, match=r"UnitConfig\.latency must be a whole number \(cycles\), 1 to 1024, not 0\."
    ):
        UnitConfig(latency=0)
    with pytest.raises(ValueError, match=r"must be a whole number .* not True"):
        L1Config(ways=True)
    with pytest.raises(ValueError, match=r"SmConfig\.sub_core must be a configuration of its own, not 4\."):
        SmConfig(sub_core=4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="collectors must equal warps"):
        SubCoreConfig(collector=CollectorConfig(allocation="per_warp"))


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    file.write_text(
        'preset = "fermi"\nlanes = 8\n[sub_core]\nbanks = 8\n[sub_core.execute.alu]\nlatency = 5\n'
    )
    config = load_config(file)
    assert (config.preset, config.lanes, config.sub_core.banks, config.sub_core.execute.alu) == (
        "fermi",
        8,
        8,
        UnitConfig(5, 1),
    )
    file.write_text("")
    assert load_config(file) == preset("turing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sub_core]\nbank = 4", r"machine\.toml: Unknown configuration field of sub_core 'bank'"),
        ("[sub_core]\nbanks = 'four'", r"machine\.toml: SubCoreConfig\.banks must be a whole number"),
        ("[sub_core]\nbanks = 4.0", r"not 4\.0"),
        ("sub_core = 4", r"sub_core is a table of fields, not 4"),
        ("[lanes]\nx = 1", r"lanes is a single value, such as 32"),
        ("preset = 3", r"preset must be a name in quotes, not 3"),
        ("preset = 'volta'", r"Unknown preset 'volta'"),
        ("lanes = = 3", r"machine\.toml: this is not TOML"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "machine.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_config(file)


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.toml: the configuration file cannot be read: No such file"):
        load_config(tmp_path / "none.toml")


def test_main_register_files_by_name() -> None:
    """LTRF, Table 2: latencies, eight times the size but for the first."""
    large = [with_overrides(preset("maxwell"), [name]) for name in TABLE2]
    assert [machine.sub_core.bank_latency for machine in large] == [100, 125, 150, 160, 280, 530, 630]
    sizes = [machine.register_file_bytes // preset("maxwell").register_file_bytes for machine in large]
    assert sizes == [1, 8, 8, 8, 8, 8, 8]
    assert large[6].sub_core.banks == 128
    average = with_overrides(preset("maxwell"), ["rf7-average"]).sub_core
    assert (average.banks, average.bank_latency) == (large[6].sub_core.banks, TABLE2["rf7"].average)
    assert with_overrides(preset("turing"), ["rf7", "sub_core.bank_latency=100"]).sub_core.bank_latency == 100
