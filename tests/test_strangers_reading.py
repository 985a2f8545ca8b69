"""Tables as strangers write them, read one way or asked about: what comes of each, without a model."""

import io
import sys

import numpy as np
import pytest

from radiusmargin.tables import DataError, UnknownNameError, read_table

pd = pytest.importorskip("pandas")

LABELS = ("poor", "rich")


def rows(*columns, header=None, sep=",", n=40):
    """A table of some columns, each a function of the row or a list that repeats, with two labels at the end."""
    lines = [] if header is None else [sep.join([*header, "kind"])]
    for i in range(n):
        cells = [column(i) if callable(column) else column[i % len(column)] for column in columns]
        lines.append(sep.join([*map(str, cells), LABELS[i % 2]]))
    return "\n".join(lines) + "\n"


def grouped(i):
    """Whole numbers with points between the thousands: 900 is 900, 4290 is 4.290."""
    value = 400 + 365 * i
    return f"{value:,}".replace(",", ".")


def money(i):
    return f'"${900 + 137.5 * i:,.2f}"'


def euros(i):
    return f"{900 + 137.5 * i:,.2f}".translate(str.maketrans(",.", ".,")) + " €"


HUES = ["red", "blue", "green"]

#: Name, table, options, and the first numbers of the first column.
READ = [
    ("german thousands", rows(grouped, HUES, header=["a", "hue"], sep=";"), {}, [400, 765, 1130]),
    ("us thousands in a tsv", rows(lambda i: f"{400 + 365 * i:,}", HUES, header=["a", "hue"], sep="\t"), {}, [400, 765, 1130]),
    ("millions", rows(lambda i: f"1.{i + 100}.512", HUES, header=["a", "hue"], sep=";"), {}, [1100512, 1101512]),
    ("three digits beside other fractions", rows(lambda i: f"4.{i + 100}", lambda i: f"0.{i + 1}", header=["a", "b"]), {}, [4.1, 4.101]),
    ("asked, and answered: points", rows(lambda i: f"4.{i + 101}", HUES, header=["a", "hue"]), {"decimal": "."}, [4.101, 4.102]),
    ("asked, and answered: thousands", rows(lambda i: f"4.{i + 101}", HUES, header=["a", "hue"]), {"thousands": "."}, [4101, 4102]),
    ("dollars", rows(money, HUES, header=["a", "hue"]), {}, [900, 1037.5, 1175]),
    ("euros", rows(euros, HUES, header=["a", "hue"], sep=";"), {}, [900, 1037.5, 1175]),
    ("percent", rows(lambda i: f"{60 + i / 8}%", HUES, header=["a", "hue"]), {}, [60, 60.125]),
    ("thousands by a letter", rows(lambda i: f"{48 + i}.0K", HUES, header=["a", "hue"]), {}, [48000, 49000]),
    ("brackets are negative", rows(lambda i: f"({1234 + i})" if i % 2 else i, HUES, header=["a", "hue"]), {}, [0, -1235, 2]),
    ("units", rows(lambda i: f"{i + 0.5} kg", HUES, header=["a", "hue"]), {}, [0.5, 1.5]),
    ("times of day", rows(lambda i: f"{i % 24:02d}:30", HUES, header=["a", "hue"]), {}, [0.5, 1.5]),
    ("numbers alone", rows(lambda i: ["?!", i][i % 3 > 0], HUES, header=["a", "hue"]), {"numbers": ["a"]}, [np.nan, 1, 2]),
    ("sep line", "sep=;\n" + rows(lambda i: i, HUES, header=["a", "hue"], sep=";"), {}, [0, 1]),
    ("comments", "# made by\n# a program\n" + rows(lambda i: i, HUES, header=["a", "hue"]), {}, [0, 1]),
    ("a title", "Sales 2024\n\n" + rows(lambda i: i, HUES, header=["a", "hue"]), {}, [0, 1]),
    ("a title in cells", "Größe,,\n" + rows(lambda i: i, HUES, header=["a", "hue"]), {}, [0, 1]),
    ("no header", rows(lambda i: 47 - i, ["Berlin", "Paris"]), {}, [47, 46]),
    ("years in the header", rows(lambda i: i, lambda i: i * i, lambda i: -i, header=["2019", "2020", "2021"]), {}, [0, 1]),
    ("no header, said so", rows(lambda i: i, lambda i: f"n{i}"), {"header": False, "drop": ["x2"]}, [0, 1]),
    ("another separator", rows(lambda i: i, HUES, header=["a", "hue"], sep="~"), {"sep": "~"}, [0, 1]),
]  # fmt: skip


@pytest.mark.parametrize(("table", "options", "first"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_numbers_are_what_was_meant(tmp_path, table, options, first):
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    task = read_table(tmp_path / "t.csv", **options)
    assert task.n_samples == 40
    assert sorted(set(task.y)) == list(LABELS)
    np.testing.assert_allclose(task.X.iloc[: len(first), 0].to_numpy(dtype=float), first)


#: Name, table, what the error says.
ASKED = [
    ("thousands or fractions", rows(lambda i: f"4.{i + 101}", HUES, header=["a", "hue"], sep=";"), "4.101 or 4101. Pass decimal="),
    ("both marks", rows(lambda i: ["1.5", "1,5"][i % 2], HUES, header=["a", "hue"], sep=";"), "--decimal ,"),
    ("day or month", rows(lambda i: f"0{i % 9 + 1}/0{i % 8 + 1}/2021", HUES, header=["a", "hue"]), "--date-format %d/%m/%Y"),
    ("several formats", rows(lambda i: ["2021-01-31", "31.01.2021"][i % 2], HUES, header=["a", "hue"]), "in several formats"),
    ("several units", rows(lambda i: f"{i} {['kg', 'lb'][i % 2]}", HUES, header=["a", "hue"]), "--numbers a"),
    ("two currencies", rows(lambda i: f"{'$€'[i % 2]}{i}", HUES, header=["a", "hue"]), "--numbers a"),
    ("a few words", rows(lambda i: "n.k." if i == 7 else f"${i}", HUES, header=["a", "hue"]), "'n.k.' in the others"),
    ("header or row", rows(lambda i: i, lambda i: f"name {i}").replace("poor", "owner", 1), "--header, --no-header"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "question"), [row[1:] for row in ASKED], ids=[row[0] for row in ASKED])
def test_what_the_table_does_not_settle_is_asked(tmp_path, table, question):
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_table(tmp_path / "t.csv")
    assert question in str(caught.value)


#: Name, table, what is said.
SAID = [
    ("identifiers that repeat", rows(lambda i: f"P{i % 13}", lambda i: i, header=["patient", "a"]), "(command line: --groups patient)"),
    ("an ID", rows(lambda i: i % 13, lambda i: i, header=["ID", "a"]), "rows of one may be learnt from and tested on"),
    ("a leak", rows(lambda i: i, lambda i: ["left", "stayed"][i % 2], header=["a", "status"]), "suspiciously perfect: column status alone"),
    ("a code for missing", rows(lambda i: -999 if i % 9 == 0 else i / 8, HUES, header=["a", "hue"]), "a holds -999 in 5 rows"),
    ("postal codes", rows(lambda i: f"{i * 311:05d}", HUES, header=["zip", "hue"]), "codes with leading zeros, read as numbers"),
    ("labels in capitals", rows(lambda i: i, header=["a"]).replace("poor", "RICH", 3), "'RICH', 'rich'"),
    ("labels with blanks", rows(lambda i: i, header=["a"]).replace("poor", "poor ", 3), "blanks around labels"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "said"), [row[1:] for row in SAID], ids=[row[0] for row in SAID])
def test_what_may_be_wrong_is_said(tmp_path, table, said):
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    assert said in read_table(tmp_path / "t.csv").note


def test_dates_in_one_format_that_fits_two_are_read_as_told(tmp_path):
    (tmp_path / "t.csv").write_text(ASKED[2][1])
    task = read_table(tmp_path / "t.csv", date_format="%m/%d/%Y")
    assert task.encoder.kinds["a"] == "date %m/%d/%Y"


def test_a_spreadsheet(tmp_path):
    pytest.importorskip("openpyxl", reason="spreadsheets need openpyxl")
    frame = pd.DataFrame({"size": [1.5, None, 3.0, 4.0], "hue": ["red", "blue", "n/a", "red"], "kind": list("abab")})
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame({"read": ["me"]}).to_excel(book, sheet_name="notes", index=False)
        frame.to_excel(book, sheet_name="data", index=False, startrow=2)
        book.sheets["data"]["A1"] = "Sizes of the year"
    task = read_table(tmp_path / "t.xlsx", sheet="data")
    assert task.feature_names == ("size", "hue")
    assert "lines above the header skipped: 'Sizes of the year'" in task.note
    np.testing.assert_array_equal(task.X["size"], [1.5, np.nan, 3, 4])
    with pytest.raises(DataError, match="no sheet 'other'; it has notes, data"):
        read_table(tmp_path / "t.xlsx", sheet="other")


def test_a_spreadsheet_without_openpyxl_says_what_to_do(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl", reason="spreadsheets need openpyxl")
    pd.DataFrame({"a": [1, 2], "y": [0, 1]}).to_excel(tmp_path / "t.xlsx", index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match="or save the sheet as CSV"):
        read_table(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match=r"save it as CSV or \.xlsx"):
        read_table(tmp_path / "t.xls")


def test_standard_input_is_read_once(monkeypatch):
    from radiusmargin.tables import read

    monkeypatch.setattr(read, "_standard_input", read._standard_input.__wrapped__)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(READ[0][1].encode())))
    assert read_table("-").n_samples == 40


def test_groups_are_no_feature_and_stay_together(tmp_path):
    (tmp_path / "t.csv").write_text(SAID[0][1])
    task = read_table(tmp_path / "t.csv", groups="patient")
    assert task.feature_names == ("a",)
    assert len(np.unique(task.groups)) == 13
    assert "13 groups" in task.note
    assert "learnt from and tested on" not in task.note
    with pytest.raises(UnknownNameError, match="no column 'doctor'"):
        read_table(tmp_path / "t.csv", groups="doctor")


def test_rows_in_the_order_of_time(tmp_path):
    (tmp_path / "t.csv").write_text(rows(lambda i: f"2021-{12 - i % 12:02d}-01", lambda i: i, header=["day", "a"]))
    task = read_table(tmp_path / "t.csv", time_order="day")
    assert task.in_time
    assert task.X["day"].is_monotonic_increasing
    (tmp_path / "t.csv").write_text(READ[0][1])
    with pytest.raises(DataError, match="neither dates nor numbers"):
        read_table(tmp_path / "t.csv", time_order="hue")
