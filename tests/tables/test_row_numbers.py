"""A column that counts the rows is named, whatever it is called."""

import pandas as pd

from radiusmargin.tables.suspicions import suspicions


def test_a_column_that_counts_the_rows_is_named():
    table = pd.DataFrame({"kunde": range(10_000, 10_040), "size": [k % 7 for k in range(40)]})
    (said,) = suspicions(table, None)
    assert "kunde counts the rows" in said
    assert "--drop kunde" in said
    assert not list(suspicions(table.iloc[::-1], None))
