"""CSV and ARFF: quotes, blanks, headers, line ends."""

import csv
import io

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fbtwsvm.data.sources import open_source
from fbtwsvm.data.sources.text import QuoteCutter


def test_text_with_quotes_semicolons_and_line_ends(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(b'\xef\xbb\xbfname;"size";kind\r\n"a ""b""\nc;";1.5;x\r\n;2;"y"\r\n')
    found = pa.concat_tables(open_source(str(path)).tables()).to_pydict()
    assert found == {"name": ['a "b"\nc;', ""], "size": ["1.5", "2"], "kind": ["x", "y"]}


def test_without_a_header(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("1,2,a\n3,4,b\n")
    found = pa.concat_tables(open_source(str(path), header=False).tables())
    assert found.to_pydict() == {"x0": ["1", "3"], "x1": ["2", "4"], "x2": ["a", "b"]}


def test_a_stray_quote_is_a_letter(tmp_path):
    """A quote within a field is no reason to look for its end in the rest of the file."""
    path = tmp_path / "disks.csv"
    lines = ["size,y", *(f"{i},a" for i in range(3000)), 'disk 5",b', *(f"{i},a" for i in range(150_000))]
    path.write_text("\n".join(lines) + "\n")
    found = pa.concat_tables(open_source(str(path)).tables())
    assert found.num_rows == 153_001
    assert found["size"][3000].as_py() == 'disk 5"'


@given(
    st.lists(st.lists(st.text('a",\n\r ', max_size=4), min_size=2, max_size=2), min_size=1, max_size=8),
    st.integers(1, 9),
)
def test_quoted_rows_are_cut_where_they_end(tmp_path_factory, rows, size):
    """However a pipe delivers the bytes, the rows are those that a CSV writer wrote."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["p", "q"], *rows])
    data = text.getvalue().encode()
    cutter, rest, whole = QuoteCutter(","), b"", []
    for first in range(0, len(data), size):
        rest += data[first : first + size]
        end = cutter.end(rest)
        if end:
            whole.append(rest[:end])
            rest = rest[end:]
    assert rest == b""
    parsed = [row for block in whole for row in csv.reader(io.StringIO(block.decode(), newline=""))]
    assert parsed == [["p", "q"], *rows]


def test_blank_lines_before_the_header(tmp_path):
    path = tmp_path / "blank.csv"
    path.write_bytes(b"\n\r\na,y\n1,2\n\n3,4")
    assert pa.concat_tables(open_source(str(path)).tables()).to_pydict() == {"a": ["1", "3"], "y": ["2", "4"]}


def test_arff_with_blanks_and_both_quotes(tmp_path):
    path = tmp_path / "odd.arff"
    head = "@relation r\n@attribute 'a b' numeric\n@attribute kind {'big one', small}\n@data\n"
    path.write_text(head + "1, 'big one'\n 2 , \"big one\"\n% 3, small\n?, small\n")
    table = pa.concat_tables(open_source(str(path)).tables())
    assert [each.strip() for each in table["a b"].to_pylist()] == ["1", "2", "?"]
    assert table["kind"].to_pylist() == ["big one", "big one", " small"]
