"""Hook of the documentation's site: a page of the machine at every example goes into `machines/`, made when
the site is built."""

from __future__ import annotations

from typing import Any

from warpbank.studies.examples import EXAMPLES, page, record

#: Folder of the pages in the site.
FOLDER = "machines"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site's files (an event of mkdocs)."""
    from mkdocs.structure.files import File

    for name, example in EXAMPLES.items():
        recording, machine = record(example)
        text = page(example, recording, machine)
        files.append(File.generated(config, f"{FOLDER}/{name}.html", content=text))
    return files
