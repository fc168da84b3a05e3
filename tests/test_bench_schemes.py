"""`python -m bench.schemes`: costs as multiples of the baseline's."""

from __future__ import annotations

import json

import pytest

from bench import schemes

#: Seconds of a run: the second round is the faster one.
SECONDS = {"baseline": [3.0, 2.0], "rfc": [5.0, 3.0], "ltrf": [4.0, 8.0]}


def test_costs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    left = {name: list(each) for name, each in SECONDS.items()}

    def measure(kernel: str, size: str, preset: str, scheme: str) -> dict[str, float]:
        assert (kernel, size, preset) == ("bfs", "tiny", "turing")
        return {"uops": 1e6, "cycles": 1, "seconds": left[scheme].pop(0)}

    monkeypatch.setattr(schemes, "measure", measure)
    monkeypatch.setattr(schemes.build, "ensure", lambda: None)
    schemes.main(["rfc", "ltrf"], ["bfs"], rounds=2, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["ratios"] == {"baseline": 1.0, "rfc": 1.5, "ltrf": 2.0}
    assert found["microseconds"] == {"bfs": {"baseline": 2.0, "rfc": 3.0, "ltrf": 4.0}}
