"""Results as data frames, where pandas is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from warpbank.arch.errors import MissingPackageError

if TYPE_CHECKING:
    import pandas


def frame(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] | None = None) -> pandas.DataFrame:
    """Pandas data frame of the rows.

    Parameters
    ----------
    rows : one mapping of column to value each; what a row does not have is missing in the frame.
    columns : names of the columns, in order; None: in the order in which the rows have them.

    Raises
    ------
    MissingPackageError : pandas is not installed.
    """
    try:
        import pandas
    except ModuleNotFoundError:
        raise MissingPackageError(
            "a data frame needs the pandas package; install it with: pip install pandas"
        ) from None
    return pandas.DataFrame([dict(row) for row in rows], columns=None if columns is None else list(columns))
