"""docs/ptx.md says what the program side does."""

from __future__ import annotations

from tests.ptx_features import FEATURES, PAGE, page, refusal


def test_page_is_up_to_date() -> None:
    assert page(PAGE.read_text()) == PAGE.read_text(), "run python -m tests.ptx_features"


def test_refusals_say_what_there_is_instead() -> None:
    """A clause of its own behind the colon, or the shapes that work."""
    for _, feature, probe in FEATURES:
        why = refusal(probe)
        assert not why or ": " in why or "works" in why or "work:" in why, feature
