"""``bills import``: files of a bill into the database, whole or not at all."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from pathlib import Path

from costguard.app.app import App
from costguard.app.bills import cur, focus
from costguard.app.bills.files import opened
from costguard.app.bills.layout import Layout, Owned
from costguard.domain.codec import encode, instant
from costguard.domain.money import Money
from costguard.engine.remarks import Language, remark
from costguard.errors import BillError, BillErrors, UsageError
from costguard.rules.currency import Rates
from costguard.store import accounts as account_store
from costguard.store.imports import ChargeImport, Period, Repeated, Staged

_LAYOUTS = ((focus.fits, focus.Focus), (cur.fits, cur.Cur))
_MOST_ERRORS = 20
_DIGITS = 60
_NO_SUM = (0, Decimal(), 0)
_STEP = 5_000
NOBODY = "(none)"

# (the file's name, its rows so far, bytes read of all files, bytes of all files)
Progress = Callable[[str, int, int, int], None]


@dataclass(frozen=True, slots=True)
class FileRead:
    """One file: ``rows`` were taken, ``left_out`` were of accounts that nobody configured."""

    file: str
    format: str
    rows: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did. ``repeated`` rows stood in more than one file and count once."""

    files: tuple[FileRead, ...]
    imports: tuple[ChargeImport, ...]
    periods: tuple[Period, ...]
    repeated: int
    warnings: tuple[str, ...]

    def json(self) -> dict[str, object]:
        """The ``costguard.bills_import/1`` document. ``exact`` and ``difference`` are decimal strings in full."""
        return {
            "schema": "costguard.bills_import/1",
            "files": [
                {"file": f.file, "format": f.format, "rows": f.rows, "left_out": f.left_out} for f in self.files
            ],
            "sums": [import_json(one) for one in self.imports],
            "periods": [
                {
                    "account": p.account, "period": p.start.astimezone(UTC).date().isoformat(), "rows": p.rows,
                    "new": p.new, "removed": p.removed, "left": p.left,
                }
                for p in self.periods
            ],
            "repeated": self.repeated,
            "warnings": list(self.warnings),
        }  # fmt: skip


def import_json(one: ChargeImport) -> dict[str, object]:
    """One import in one currency, as documents tell it."""
    return {
        "account": one.account,
        "source": one.source,
        "at": instant(one.at),
        "currency": one.rounded.currency,
        "rows": one.row_count,
        "billed": encode(one.rounded),
        "exact": format(one.exact, "f"),
        "difference": format(one.difference, "f"),
    }


class Accounts:
    """Which configured account a row belongs to, by the ids that its bill tells.

    An account's own id is the configured one, else what its provider said at the last look. ``fallback`` takes what no
    id claims; without it such rows are counted in ``unknown`` and left out.
    """

    def __init__(self, ids: Mapping[str, Owned], fallback: Owned | None) -> None:
        self._ids, self._fallback = ids, fallback
        self.unknown: Counter[str] = Counter()

    @classmethod
    def of(cls, app: App, fallback: str | None) -> "Accounts":
        """Raises UsageError for a fallback that is not configured."""
        owned = {name: Owned(name, account.provider) for name, account in app.accounts.items()}
        if fallback is not None and fallback not in owned:
            raise UsageError(f"no account is called {fallback!r}", sorted(owned))
        with app.database.read() as conn:
            told = {name: record.account_id for name, record in account_store.accounts(conn).items()}
        ids = {}
        for name, account in app.accounts.items():
            if known := account.bound.spec.account_id or told.get(name):
                ids[known] = owned[name]
        return cls(ids, None if fallback is None else owned[fallback])

    def __call__(self, ids: Sequence[str | None]) -> Owned | None:
        for known in ids:
            if known is not None and (found := self._ids.get(known)) is not None:
                return found
        if self._fallback is None:
            self.unknown[next((known for known in ids if known is not None), NOBODY)] += 1
        return self._fallback


def import_bills(
    app: App,
    files: Sequence[Path],
    *,
    replace: bool = False,
    account: str | None = None,
    known_only: bool = False,
    language: Language | None = None,
    progress: Progress = lambda file, rows, read, size: None,
) -> Imported:
    """Imports the files as one: all of them or, when anything is wrong with one, nothing.

    ``replace``: what was imported earlier for the same accounts and billing periods goes. ``account`` takes the rows
    whose account ids nobody has configured; ``known_only`` leaves those rows out. ``language`` is that of the
    warnings, the configuration's if None. Raises UsageError, BillErrors.
    """
    if account is not None and known_only:
        raise UsageError("--account and --known-only exclude each other")
    now = app.clock.now()
    owners = Accounts.of(app, account)
    sums = _Sums()
    read: list[FileRead] = []
    errors: list[BillError] = []
    notes: list[str] = []
    size, done = sum(path.stat().st_size for path in files if path.is_file()), 0
    with Staged(several=len(files) > 1) as staged, localcontext() as exact:
        exact.prec = _DIGITS
        for number, path in enumerate(files):
            try:
                with opened(path) as table:
                    layout = _layout(table.header, now)
                    rows = unknown = 0
                    for row, cells in table.rows:
                        try:
                            line = layout.line(cells, owners)
                        except BillError as error:
                            errors.append(BillError(error.message, file=path.name, row=row, column=error.column))
                            if len(errors) >= _MOST_ERRORS:
                                raise BillErrors(errors) from None
                            continue
                        if line is None:
                            unknown += 1
                        else:
                            rows += 1
                            staged.add(number, line)
                            sums.add(line.like.charge.account, line.exact, line.billed)
                        if (rows + unknown) % _STEP == 0:
                            progress(path.name, rows + unknown, done + table.read(), size)
                    done += table.size
                    progress(path.name, rows + unknown, done, size)
                    read.append(FileRead(path.name, layout.name, rows, unknown))
                    notes += [f"{path.name}: {count} {sentence}" for sentence, count in sorted(layout.notes.items())]
            except BillError as error:
                errors.append(error)
        if errors:
            raise BillErrors(errors)
        if owners.unknown and not known_only:
            raise _unknown(owners.unknown, app)
        staged.seal(sums.repeated)
        found = sums.imports(", ".join(path.name for path in files), now)
        periods = staged.move(app.database, found, replace=replace)
    spoken = language or app.config.settings.language
    warnings = [*notes, *_warnings(app, spoken, found, periods, sums.without, owners.unknown)]
    return Imported(tuple(read), found, periods, sums.without, tuple(warnings))


class _Sums:
    """Exact and rounded sums per account and currency, ``without`` rows that stood in a later file as well."""

    def __init__(self) -> None:
        self.without = 0
        self._sums: dict[tuple[str, str], tuple[int, Decimal, int]] = {}

    def add(self, account: str, exact: Decimal, rounded: Money) -> None:
        key = (account, rounded.currency)
        rows, total, nanos = self._sums.get(key, _NO_SUM)
        self._sums[key] = rows + 1, total + exact, nanos + rounded.nanos

    def repeated(self, row: Repeated) -> None:
        """Takes out a row that counts as it stands in a later file."""
        account, currency, exact, nanos = row
        rows, total, sum_so_far = self._sums[account, currency]
        self._sums[account, currency] = rows - 1, total - exact, sum_so_far - nanos
        self.without += 1

    def imports(self, source: str, now: datetime) -> tuple[ChargeImport, ...]:
        return tuple(
            ChargeImport(account, source, now, rows, exact, Money(nanos, currency))
            for (account, currency), (rows, exact, nanos) in sorted(self._sums.items())
            if rows
        )


def _layout(header: Sequence[str], now: datetime) -> Layout:
    for fits, layout in _LAYOUTS:
        if fits(header):
            return layout(header, now)
    shown = ", ".join(header[:8]) or "nothing"
    raise BillError(
        "is neither FOCUS (BilledCost, ChargeCategory, …) nor an AWS CUR (lineItem/UnblendedCost, …): "
        f"its columns are {shown}",
        row=1,
    )


def _unknown(found: Counter[str], app: App) -> UsageError:
    lines = [f"{known}: {count} rows" for known, count in found.most_common(_MOST_ERRORS)]
    names = ", ".join(sorted(app.accounts)) or "none"
    return UsageError(
        "the bill is of accounts that are not configured: set account_id, or give their rows to one with "
        f"--account NAME (configured: {names}), or leave them out with --known-only. Found:",
        lines,
    )


def _warnings(
    app: App,
    language: Language,
    imports: Sequence[ChargeImport],
    periods: Sequence[Period],
    repeated: int,
    left_out: Counter[str],
) -> Iterator[str]:
    rates = Rates(app.config.settings.currency, app.config.settings.rates())
    for one in imports:
        currency = app.accounts[one.account].bound.spec.currency
        if one.rounded.currency != currency:
            yield remark(language, "other_currency", account=one.account, bill=one.rounded.currency, currency=currency)
        if rates.convert(one.rounded, one.at) is None:
            yield remark(language, "no_rate", currency=one.rounded.currency, amount=one.rounded)
    for period in periods:
        if period.left:
            month = period.start.date().isoformat()
            yield remark(language, "left_from_earlier", account=period.account, period=month, count=period.left)
    if repeated:
        yield remark(language, "repeated_rows", count=repeated)
    if left_out:
        ids = ", ".join(f"{known} ({count})" for known, count in left_out.most_common(5))
        yield remark(language, "left_out", count=left_out.total(), ids=ids)
