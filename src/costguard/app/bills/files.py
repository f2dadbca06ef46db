"""Files of a bill as tables: CSV and Parquet, plain or gzipped, told apart by their first bytes and not by their names.

Rows are read as they are asked for, so a file of any length takes little memory.
"""

import csv
import gzip
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from zlib import error as zlib_error

from costguard.errors import BillError, UsageError

_GZIP, _ZIP, _PARQUET, _UTF16 = b"\x1f\x8b", b"PK\x03\x04", b"PAR1", (b"\xff\xfe", b"\xfe\xff")
_BATCH = 500
_FIRST = 2  # row 1 is the header
# What real exports write for nothing. As a tuple for Parquet, where a cell may be a list.
_NULLS = ("", "NULL", "null")
_BROKEN = (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib_error)

Cells = Sequence[object]


@dataclass(frozen=True, slots=True)
class Table:
    """A header and numbered rows as long as it. Cells are text, in Parquet any Python value; None says nothing.

    ``read`` tells how many of the file's ``size`` bytes have been read.
    """

    header: tuple[str, ...]
    rows: Iterator[tuple[int, Cells]]
    read: Callable[[], int]
    size: int


@contextmanager
def opened(path: Path) -> Iterator[Table]:
    """The table in a file. Raises UsageError for no file, BillError for what is no table (also while it is read)."""
    with ExitStack() as stack:
        try:
            raw = stack.enter_context(path.open("rb"))
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        stack.enter_context(_failures(path.name))
        begin = _peek(raw)
        stream: IO[bytes] = raw
        if begin.startswith(_GZIP):
            stream = stack.enter_context(closing(cast(IO[bytes], gzip.open(raw))))  # noqa: SIM115
            begin = _peek(stream)
            if begin == _PARQUET:  # needs to be read from its end: unpacked into a file that is gone afterwards
                packed, stream = stream, stack.enter_context(tempfile.TemporaryFile())
                shutil.copyfileobj(packed, stream)
                stream.seek(0)
        if begin == _ZIP:
            raise BillError("is a zip archive: unpack it first")
        if begin.startswith(_UTF16):
            raise BillError("is UTF-16: export it as CSV in UTF-8")
        if begin == _PARQUET:
            header, rows = _parquet(stream)
        else:
            header, rows = _csv(stack.enter_context(io.TextIOWrapper(stream, "utf-8-sig", newline="")))
        doubled = sorted({name for name in header if header.count(name) > 1})
        if doubled:
            raise BillError(f"has the column {doubled[0]} twice", row=1)
        size = path.stat().st_size
        yield Table(header, rows, raw.tell, size)


def _peek(stream: IO[bytes]) -> bytes:
    begin = stream.read(4)
    stream.seek(0)
    return begin


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """What goes wrong while a file is read, as a sentence about this file."""
    try:
        yield
    except BillError as error:
        raise BillError(error.message, file=name, row=error.row, column=error.column) from None
    except EOFError:
        raise BillError("ends in the middle: it is cut short", file=name) from None
    except (gzip.BadGzipFile, zlib_error):
        raise BillError("is damaged: it cannot be unpacked", file=name) from None
    except OSError as error:
        raise BillError(f"cannot be read: {error.strerror or type(error).__name__}", file=name) from None


def _csv(text: IO[str]) -> tuple[tuple[str, ...], Iterator[tuple[int, Cells]]]:
    reader = csv.reader(text, strict=True)
    try:
        names = tuple(cell.strip() for cell in next(reader, []))
    except _BROKEN as error:
        raise _broken(error, 1) from None

    def rows() -> Iterator[tuple[int, Cells]]:
        number, width = _FIRST - 1, len(names)
        try:
            for row in reader:
                number += 1
                if len(row) == width:
                    if "NULL" in row or "null" in row:
                        yield number, [None if cell in _NULLS else cell for cell in row]
                    else:
                        yield number, [cell or None for cell in row]
                elif row:
                    raise BillError(f"has {len(row)} cells, the header has {width}", row=number)
        except _BROKEN as error:
            raise _broken(error, number + 1) from None

    return names, rows()


def _broken(error: Exception, row: int) -> BillError:
    if isinstance(error, csv.Error):
        return BillError(f"is not CSV: {error}", row=row)
    if isinstance(error, UnicodeDecodeError):
        return BillError("is not UTF-8, here or soon after", row=row)
    if isinstance(error, EOFError):
        return BillError("the file ends in the middle of this row: it is cut short", row=row)
    return BillError("the file is damaged here: it cannot be unpacked", row=row)


def _parquet(stream: IO[bytes]) -> tuple[tuple[str, ...], Iterator[tuple[int, Cells]]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'costguard[parquet]', or export the bill as CSV") from None
    # One thread and its own allocator given back: a bill is read in passing beside a daemon on a small machine.
    pyarrow.set_cpu_count(1)
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())

    def rows(file: Any) -> Iterator[tuple[int, Cells]]:
        number = _FIRST
        try:
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield number, [None if cell in _NULLS else cell for cell in row]
                    number += 1
        except (pyarrow.ArrowException, OSError) as error:
            raise BillError(f"is damaged Parquet: {_first_line(error)}", row=number) from None

    try:
        file = pyarrow.parquet.ParquetFile(stream, pre_buffer=False, buffer_size=64 * 1024)
    except (pyarrow.ArrowException, OSError) as error:
        raise BillError(f"is damaged Parquet: {_first_line(error)}") from None
    return tuple(file.schema_arrow.names), rows(file)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:200]
