"""Files of a bill: forms, and what is wrong with them."""

import gzip
import io
import sys
import zipfile
from pathlib import Path

import pytest

from costguard.app.bills.files import opened
from costguard.errors import BillError, UsageError
from tests.unit.app.bills.made import focus, said, text, write


def read(path: Path) -> tuple[tuple[str, ...], list[tuple[int, dict[str, object]]]]:
    with opened(path) as table:
        rows = [(number, dict(zip(table.header, cells, strict=True))) for number, cells in table.rows]
        return table.header, rows


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.parquet.gz"])
def test_the_form_is_told_by_the_first_bytes(tmp_path: Path, name: str) -> None:
    wanted = focus({"BilledCost": "1"}, {"BilledCost": "2"})
    path = write(tmp_path / name, wanted).rename(tmp_path / "no-name")
    header, rows = read(path)
    assert header == tuple(wanted[0])
    assert rows == [(n, dict(zip(header, said(row), strict=True))) for n, row in enumerate(wanted, 2)]


def test_a_byte_order_mark_spaces_in_the_header_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\ufeffBilledCost , ChargeCategory\r\n1,Usage\r\n\r\n2,Tax\r\n\r\n", "utf-8", newline="")
    header, rows = read(path)
    assert header == ("BilledCost", "ChargeCategory")
    assert [(n, row["BilledCost"]) for n, row in rows] == [(2, "1"), (4, "2")]


def test_what_exports_write_for_nothing_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\nNULL,,null\n0,Null,nullable\n,x,\n", "utf-8")
    assert [list(row.values()) for _, row in read(path)[1]] == [
        [None, None, None], ["0", "Null", "nullable"], [None, "x", None],
    ]  # fmt: skip


def test_a_cell_may_hold_lines_and_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", focus({"ChargeDescription": 'one "two"\nthree, four'}))
    assert read(path)[1][0][1]["ChargeDescription"] == 'one "two"\nthree, four'


def test_an_empty_file_has_an_empty_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"")
    assert read(path) == ((), [])


def _utf16(path: Path) -> None:
    path.write_bytes(text(focus()).encode("utf-16"))


def _latin(path: Path) -> None:
    path.write_bytes(text(focus({}, {"ChargeDescription": "Gerät"})).encode("latin-1"))


def _ragged(path: Path) -> None:
    path.write_text("a,b\n1,2\n3\n", "utf-8")


def _quote(path: Path) -> None:
    path.write_text('a,b\n1,"2\n3,4\n', "utf-8")


def _twice(path: Path) -> None:
    path.write_text("a,b,a\n1,2,3\n", "utf-8")


def _cut(path: Path) -> None:
    packed = gzip.compress(text(focus(*({"BilledCost": str(n)} for n in range(2000)))).encode())
    path.write_bytes(packed[: len(packed) // 2])


def _broken_gzip(path: Path) -> None:
    packed = bytearray(gzip.compress(text(focus(*({} for _ in range(500)))).encode()))
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", text(focus()))


def _cut_parquet(path: Path) -> None:
    whole = write(path.with_suffix(".parquet"), focus()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_utf16, r"bill: is UTF-16"),
        (_latin, r"bill: row 1: is not UTF-8, here or soon after"),
        (_ragged, r"bill: row 3: has 1 cells, the header has 2"),
        (_quote, r"bill: row 2: is not CSV: unexpected end of data"),
        (_twice, r"bill: row 1: has the column a twice"),
        (_cut, r"bill: row \d+: the file ends in the middle of this row: it is cut short"),
        (_broken_gzip, r"bill: .*is damaged"),
        (_zip, r"bill: is a zip archive: unpack it first"),
        (_cut_parquet, r"bill: is damaged Parquet"),
    ],
)
def test_what_is_wrong_names_file_and_row(tmp_path: Path, make: object, message: str) -> None:
    path = tmp_path / "bill"
    make(path)  # type: ignore[operator]
    with pytest.raises(BillError, match=message):
        read(path)


def test_no_file_and_a_folder_are_a_wrong_command(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"), opened(path):
            pass


def test_without_pyarrow_a_parquet_file_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.parquet", focus())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'costguard\[parquet\]'"), opened(path):
        pass
    csv = write(tmp_path / "a.csv", focus())
    assert len(read(csv)[1]) == 1


def test_rows_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    out = io.StringIO()
    out.write("a,b\n")
    out.writelines(f"{n},{n}\n" for n in range(200_000))
    path.write_text(out.getvalue(), "utf-8")
    with opened(path) as table:
        next(iter(table.rows))
        assert table.read() < table.size / 10
