"""The figures of a page, checked by plotly itself."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import plotly.graph_objects as graphs


def figures(page: str) -> dict[str, Any]:
    """Figures by the name of their place; plotly raises ValueError for what it does not know."""
    found = re.findall(
        r'<script type="application/json" class="figure" data-for="([^"]+)">(.*?)</script>', page, re.DOTALL
    )
    described = {name: json.loads(html.unescape(text)) for name, text in found}
    return {name: graphs.Figure(each["data"], each["layout"]) for name, each in described.items()}
