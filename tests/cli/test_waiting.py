"""`warpbank waiting`."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as xml

from tests.cli.command import warpbank


def test_command(tmp_path: Path) -> None:
    interval = ("--set", "sub_core.collector.sthld_interval=64")
    done = warpbank(
        "waiting", "nn", "--size", "tiny", *interval, "--json", "--output", str(tmp_path / "nn.svg")
    )
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert data["kernel"] == "nn"
    assert [interval["end"] for interval in data["intervals"]] == [
        64 * k + 63 for k in range(len(data["intervals"]))
    ]
    drawing = xml.parse(tmp_path / "nn.svg").getroot()
    assert drawing.tag.endswith("svg")
    texts = [element.text for element in drawing.iter() if element.tag.endswith("text")]
    assert {"nn, malekeh, intervals of 64 cycles", "STHLD, cycles", "IPC", "hold"} <= set(texts)
    assert warpbank("waiting", "nn", "--scheme", "bow").code == 2
