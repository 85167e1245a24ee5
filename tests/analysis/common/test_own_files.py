"""Files as people have them are read; what is assumed is said, and what can be read in
two ways is refused.
"""

import datetime
import decimal
import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from analysis.common.own_columns import Conventions
from analysis.common.own_files import ReadOptions, read_file
from tests.refusals import refused

# name -> text, then expected columns (name -> first values) and words of the line of
# what was understood
FILES = {
    "auto imports: ? among numbers and texts, no header": (
        "3,?,alfa,gas,13495\n1,164,audi,gas,?\n2,158,audi,diesel,17450\n2,?,alfa,?,15250\n",
        {"c1": [3, 1], "c2": [np.nan, 164.0], "c3": ["alfa", "audi"], "c4": ["gas"], "c5": [13495.0]},
        ["no header: columns are c1 to c5", "'?' taken as missing (4)"],
    ),
    "horse colic: blanks between columns, no header": (
        "2 1 38.50 66 ?\n1 1 39.2 88 20 \n 2 9 38.30 40 24\n",
        {"c1": [2, 1, 2], "c3": [38.5], "c5": [np.nan, 20, 24]},
        ["'?' taken as missing (1)"],
    ),
    "Telco churn: blank numbers": (
        "tenure,TotalCharges,Churn\n1,29.85,No\n0, ,No\n34,1889.5,Yes\n",
        {"tenure": [1, 0], "TotalCharges": [29.85, np.nan], "Churn": ["No", "No", "Yes"]},
        ["3 rows, 3 columns", "blank taken as missing (1)"],
    ),
    "air quality: decimal commas, times with points, empty columns and rows": (
        "Date;Time;CO;T;;\n10/03/2004;18.00.00;2,6;13,6;;\n13/03/2004;19.30.00;2;-1,3;;\n;;;;;\n",
        {"Date": [0.0, 3.0], "Time": [18.0, 19.5], "CO": [2.6, 2.0], "T": [13.6, -1.3]},
        ["`Date` as days since 2004-03-10", "`Time` as hours of the day", "with decimal commas", "1 empty rows"],
    ),

    "planets: comment lines": (
        "# archive\n#\n# 3 columns\npl_name,st_mass,disc\n11 Com b,2.7,2007-11\nHD 1 "
        "b,,2009-01\n",
        {"pl_name": ["11 Com b"], "st_mass": [2.7, np.nan], "disc": [0.0, 427.0]},
        ["`disc` as days since 2007-11-01"],
    ),
    "numpy.savetxt: names in a comment": ("# a,b\n1.5,2\n2.5,3\n", {"a": [1.5, 2.5], "b": [2, 3]}, ["a to b"]),
    "a screen of ours": (
        '# Which, "why".\n# q: 5 %\n"column","bits","dependent"\n"item #3",0.5,True\n"#4",0.1,False\n',
        {"column": ["item #3", "#4"], "bits": [0.5, 0.1], "dependent": [True, False]},
        [],
    ),
    "adult income: blanks before names and values": (
        "age, workclass, income\n39, State-gov, <=50K\n50, ?, >50K\n38, Private, "
        "<=50K\n",
        {"age": [39, 50], "workclass": ["State-gov", None], "income": ["<=50K", ">50K"]},
        ["'?' taken as missing (1)"],
    ),
    "Ames: NA is a category of texts and missing among numbers": (
        "Order,Alley,Lot.Frontage\n1,NA,141\n3,Grvl,NA\n7,NA,81\n",
        {"Alley": ["NA", "Grvl", "NA"], "Lot.Frontage": [141, np.nan, 81]},
        ["`Alley` with 'NA' (2) as a category", "'NA' taken as missing (1)"],
    ),

    "currency codes: - among numbers": (
        "Code,Minor\nEUR,2\nXAU,-\nJPY,0\n", {"Minor": [2, np.nan, 0]}, ["'-' taken as missing (1)"],
    ),
    "a table of prices: thousands, a sign, a unit, per cent": (
        'pay,price,weight,share\n"45,000","$1,204.50",2.1 kg,45%\n"1,052,300",$3,3 kg,3%\n',
        {"pay": [45000, 1052300], "price": [1204.5, 3.0], "weight": [2.1, 3.0], "share": [45, 3]},
        ["`weight` without 'kg'", "without '$' and with separators of thousands", "`share` without '%'"],
    ),
    "thousands in a German table": (
        "Ort;Einwohner;Fl\u00e4che\nKiel;246.794;118,65\nHamburg;1.852.478;755,09\n",
        {"Einwohner": [246794, 1852478], "Fl\u00e4che": [118.65, 755.09]},
        ["separators of thousands"],
    ),
    "a comma at the end of every row": (
        "a,b,c\n1,2,x,\n3,4,y,\n", {"a": [1, 3], "b": [2, 4], "c": ["x", "y"]}, ["separators at the ends"],
    ),
    "pandas: row numbers": (
        ",a,b\n0,1.5,x\n1,2.5,y\n", {"a": [1.5, 2.5], "b": ["x", "y"]}, ["1 columns without a name"],
    ),
    "R: row names without a name": (
        '"a" "b"\n"Mazda RX4" 21.5 6\n"Datsun 710" 22.8 4\n',
        {"Unnamed: 0": ["Mazda RX4"], "a": [21.5], "b": [6, 4]},
        [],
    ),
    "a repeated name": ("x,x,y\n1,2,3\n4,5,6\n", {"x": [1, 4], "x.1": [2, 5]}, ["another 'x' is called 'x.1'"]),
    "years as names": ("country,1990,1991,1992\nPeru,1.5,2,3\nChad,4,5,6\n", {"1990": [1.5, 4.0]}, []),
    "bars": ("a|b\n1|2,5\n2|3,5\n", {"a": [1, 2], "b": [2.5, 3.5]}, ["`b` with decimal commas"]),
    "moments": (
        "t\n2020-01-01T10:00:00Z\n2020-01-02 11:30\n", {"t": [0.0, 25.5]}, ["as hours since 2020-01-01 10:00"],
    ),
    "a first date decides the others": ("d\n01.02.2020\n03.02.2020\n", {"d": [0.0, 2.0]}, []),
    "line ends of an old Mac": ("a,b\r1,2\r3,4\r", {"a": [1, 3], "b": [2, 4]}, []),
    "signs of typography": ("a\n\u22121.5\n1\u00a0234.5\n", {"a": [-1.5, 1234.5]}, []),
}  # fmt: skip


@pytest.fixture
def csv(tmp_path):
    """(text) -> the path of a file with this text."""

    def write(text, encoding="utf-8"):
        path = tmp_path / "own.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize("name", FILES)
def test_a_file_as_people_have_it_is_read(csv, name):
    text, expected, words = FILES[name]
    table = read_file(csv(text))
    for column, values in expected.items():
        read = table.columns[column].head(len(values)).astype(object)
        expected_values = pd.Series(values, dtype=object)
        assert (
            read.fillna("missing").tolist()
            == expected_values.fillna("missing").tolist()
        )
    for word in words:
        assert word in table.summary
    assert not table.problems


# name -> text, the option that decides, and the values of a then
AMBIGUOUS = {
    "1,234 between semicolons": (
        "a;b\n1,234;1\n5,678;2\n",
        {"decimal": ","},
        [1.234, 5.678],
    ),
    "3/4/2020": ("a,b\n3/4/2020,1\n5/4/2020,2\n", {"dates": "day"}, [0.0, 2.0]),
    "a text among numbers": (
        "a,b\n" + "1,2\n" * 30 + "unknown,3\n",
        {"marks": frozenset({"", "unknown"})},
        [1, 1],
    ),
    "numbers below a limit": (
        "a,b\n" + "0.5,2\n" * 30 + "<0.1,3\n",
        {"marks": frozenset({"<0.1"})},
        [0.5, 0.5],
    ),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_read_in_two_ways_is_a_problem_and_an_option_decides(csv, name):
    text, decides, values = AMBIGUOUS[name]
    path = csv(text)
    table = read_file(path)
    assert [*table.problems] == ["a"]
    assert f"--{[*decides][0]}" in table.problem("a")
    table = read_file(path, ReadOptions(conventions=Conventions(**decides)))
    assert not table.problems
    assert table.columns["a"].tolist()[:2] == values


@pytest.mark.parametrize(
    "text, header, column, values",
    [
        ("Smith,23\nJones,45\nBrown,31\n", 0, "c2", [23, 45, 31]),
        ("Report of a device\n\nmade today, at noon\na,b\n1,2\n3,4\n", 4, "b", [2, 4]),
    ],
)
def test_a_first_line_that_may_be_names_or_data_is_refused_and_an_option_decides(
    csv, text, header, column, values
):
    path = csv(text)
    with refused("DATA", "file"):
        read_file(path)
    assert (
        read_file(path, ReadOptions(header=header)).columns[column].tolist() == values
    )


UNREADABLE = {
    "a row longer than the header": "a,b\n1,2\n1,New York, NY\n" + "1,2\n" * 20,
    "decimal commas below one name": "a\n1,5\n3,2\n",
    "a long cell": "a,b\n" + "1,2\n" * 5000 + "x" * 2**20 + ",3\n",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_table_is_refused(csv, name):
    with refused("DATA", "file"):
        read_file(csv(UNREADABLE[name]))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_encodings(csv, encoding):
    table = read_file(
        csv("temp\u00e9rature,niveau\n1,\u00e9lev\u00e9\n2,bas\n", encoding)
    )
    assert table.columns["temp\u00e9rature"].tolist() == [1, 2]
    assert table.columns["niveau"][0] == "\u00e9lev\u00e9"
    assert ("cp1252" in table.summary) == (encoding == "cp1252")


def test_packed_texts(tmp_path):
    path = tmp_path / "own.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_file(path).columns["b"].tolist() == [2]
    path.write_bytes(gzip.compress(bytes(2**20) * 80))
    with refused(code="range"):
        read_file(path)


def test_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["day", "a", "b"])
    book.active.append([datetime.datetime(2020, 1, 1), 1, "x"])
    book.active.append([datetime.datetime(2020, 1, 3), None, "NA"])
    book.create_sheet("notes")
    book.save(tmp_path / "own.xlsx")
    table = read_file(tmp_path / "own.xlsx")
    assert table.columns["day"].tolist() == [0.0, 2.0]
    assert table.columns["b"].tolist() == ["x", "NA"]
    assert "sheet 'Sheet' of 2" in table.summary
    book.active.cell(1_000_000, 16_000).value = 1
    book.save(tmp_path / "wide.xlsx")
    with refused("DATA"):
        read_file(tmp_path / "wide.xlsx")


def test_a_workbook_without_its_reader_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "own.xlsx").write_bytes(b"")
    with refused("DATA", "file"):
        read_file(tmp_path / "own.xlsx")


def test_parquet_of_others(tmp_path):
    """Decimals are numbers, the index is a column, lists are blocks, dates are days,
    whole numbers stay whole.
    """
    path = tmp_path / "own.parquet"
    frame = pd.DataFrame(
        {
            "price": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")],
            "embedding": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
            "ragged": [[1.0], [1.0, 2.0], []],
            "day": [datetime.date(2020, 1, 1), None, datetime.date(2020, 1, 3)],
            "text": ["1.5", "?", "2.5"],
            "kind": pd.Categorical(["1", "2", "1"]),
        },
        index=pd.Index([7, 7, 8], name="patient"),
    )
    frame["count"] = pd.array([1, None, 3], dtype="Int64")
    frame.to_parquet(path)
    table = read_file(path)
    assert table.columns["patient"].tolist() == [7, 7, 8]
    assert_array_equal(table.columns["price"], [1.5, np.nan, 2.25])
    assert table.columns["embedding"].tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert_array_equal(table.columns["day"], [0.0, np.nan, 2.0])
    assert_array_equal(table.columns["text"], [1.5, np.nan, 2.5])
    assert table.columns["kind"].tolist() == ["1", "2", "1"]
    assert [*table.columns["count"].dropna()] == [1, 3]
    assert "ragged" not in table.columns
    assert "`ragged` with lists of several lengths left out" in table.summary


def test_strict_is_comma_separated_and_typed_by_pandas(csv):
    strict = ReadOptions(strict=True)
    table = read_file(csv("a,b\n1,2020-01-01\n?,x\n"), strict)
    assert table.columns["a"].tolist() == ["1", "?"]
    assert table.summary == "2 rows, 2 columns"
    with refused("DATA", "file"):
        read_file(csv("a,b\n\u00e9,1\n", "cp1252"), strict)
