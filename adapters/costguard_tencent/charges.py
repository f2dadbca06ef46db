"""The Billing and Balances roles: the bill's detail rows, of closed months made equal to the month's own summary.

Hours are settled with delay and rows restated, so whole months are read again and again. The monthly row that evens
out eight decimals and two is one of the detail rows. Prepaid terms are looked for in the months before as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from costguard.domain.charge import Balance, Charge, Stage
from costguard.domain.money import Money
from costguard.errors import PermissionDenied, ProviderError
from costguard_tencent import bills, terms
from costguard_tencent.bills import Month
from costguard_tencent.client import PAGE_CAP, Api, bad, log
from costguard_tencent.errors import Call
from costguard_tencent.fields import BEIJING, read_amount, read_fen
from costguard_tencent.inventory import InventoryRole
from costguard_tencent.terms import Term

HISTORY_MONTHS = 18
_ROWS = 300
_PAY_TYPES = ("consume", "refund", "adjustment")

Summary = Mapping[str, tuple[str, Money]]
"""Product code → its name and payable amount."""


class BillingRole:
    """Charges and balance of one account. Billing has no regions."""

    def __init__(self, api: Api, inventory: InventoryRole) -> None:
        self._api, self._inventory = api, inventory
        self._zone = api.spec.billing_timezone or BEIJING
        self._regions: Mapping[str, str] | None = None
        self._terms: dict[date, Sequence[Term]] = {}

    def charges(self, start: datetime, end: datetime) -> Iterator[Charge]:
        """Charges of the months that [start, end) touches, up to today, of the last 18 months."""
        if start >= end:
            raise ValueError(f"an empty period: {start.isoformat()} to {end.isoformat()}")
        now = self._api.clock.now()
        today = now.astimezone(self._zone).date()
        first = start.astimezone(self._zone).date().replace(day=1)
        first = max(first, _months_before(today.replace(day=1), HISTORY_MONTHS - 1))
        last = min((end - timedelta(microseconds=1)).astimezone(self._zone).date(), today)
        while first <= last:
            yield from self._month(first, now)
            first = bills.next_month(first)

    def balance(self) -> Balance:
        """What is there, the credit line included, and what of it is frozen: an hour's price of each running box."""
        api = self._api
        call = self._call("DescribeAccountBalance")
        answer = api.read("billing", "DescribeAccountBalance", "")
        try:
            available = read_fen(answer.get("CreditBalance"), api.currency)
            frozen = read_fen(answer.get("FreezeAmount"), api.currency)
            real = read_fen(api.required(answer, "RealBalance", call), api.currency)
        except ValueError:
            raise bad(call, "RealBalance", "an amount that is no number") from None
        if available is None:
            if real is None:
                raise bad(call, "RealBalance", "an amount that is not told")
            available = real + (frozen or Money.zero(api.currency))  # the real balance is without what is frozen
        return Balance(api.account, available, frozen, api.clock.now())

    def _month(self, first: date, now: datetime) -> Iterator[Charge]:
        summary = self._summary(first) if bills.is_final(first, now, self._zone) else None
        stage = Stage.FINAL if summary is not None else Stage.PROVISIONAL
        month = Month(self._api.account, first, self._zone, self._api.currency, stage)
        sums: dict[str, Money] = {}
        running: list[Term] = []
        for code, charge, term in self._rows(month):
            sums[code] = sums[code] + charge.billed_cost if code in sums else charge.billed_cost
            running += [term] if term else []
            yield terms.booked(term) if term else charge
        for count in range(1, terms.MONTHS):
            running += self._bought(_months_before(first, count), now)
        for term in running:
            if (share := terms.share(term, month, now)) is not None:
                yield share
        for code, (service, amount) in (summary or {}).items():
            rest = amount - sums.get(code, Money.zero(amount.currency))
            if rest:
                yield bills.difference(code, service, rest, month)

    def _bought(self, first: date, now: datetime) -> Sequence[Term]:
        """The terms that were paid for in an earlier month. What is final is asked once; what is too old is untold."""
        if first < _months_before(now.astimezone(self._zone).date().replace(day=1), HISTORY_MONTHS - 1):
            return ()
        final = bills.is_final(first, now, self._zone)
        if first not in self._terms:
            month = Month(self._api.account, first, self._zone, self._api.currency, Stage.PROVISIONAL)
            found = tuple(term for _, _, term in self._rows(month, "prePay") if term)
            if not final:
                return found
            self._terms[first] = found
        return self._terms[first]

    def _rows(self, month: Month, pay_mode: str | None = None) -> Iterator[tuple[str, Charge, Term | None]]:
        """Product code, charge and prepaid term of each row, until a page is short: the total is a day old and may be
        too low."""
        call = self._call("DescribeBillDetail")
        seen: dict[str, int] = {}
        offset, context = 0, None
        for _ in range(PAGE_CAP):
            answer = self._api.read(
                "billing", "DescribeBillDetail", "",
                Month=month.cycle, Offset=offset, Limit=_ROWS, NeedRecordNum=0, PayMode=pay_mode,
                Context=context,
            )  # fmt: skip
            page = self._api.items(answer, "DetailSet", call)
            before = len(seen)
            for row in page:
                key = _fresh(bills.key_of(row), row, seen)
                if key is None:
                    continue
                try:
                    charge = bills.read_row(row, key, month, self._region)
                except (ValueError, TypeError, AttributeError):
                    raise bad(call, "DetailSet", "a row of an unknown shape") from None
                yield str(row.get("BusinessCode") or ""), charge, terms.read_term(row, charge)
            if len(page) < _ROWS:
                return
            if len(seen) == before:
                raise bad(call, "Offset", "the same page came twice")
            offset += len(page)
            context = answer.get("Context") or None
        raise bad(call, "Offset", f"more than {PAGE_CAP} pages")

    def _summary(self, first: date) -> Summary | None:
        """What the month's summary says of each product: used, refunded and adjusted. None while it is not ready (an
        account's first question only starts it) or may not be asked: the month is not final then."""
        call = self._call("DescribeBillSummaryByProduct")
        cycle, found = f"{first:%Y-%m}", dict[str, tuple[str, Money]]()
        for pay_type in _PAY_TYPES:
            try:
                answer = self._api.read(
                    "billing", "DescribeBillSummaryByProduct", "", BeginTime=cycle, EndTime=cycle, PayType=pay_type
                )
            except PermissionDenied as error:
                log.warning("account %s: the bill of %s stays provisional: %s", self._api.account, cycle, error)
                return None
            if not int(self._api.required(answer, "Ready", call)):
                return None
            for row in answer.get("SummaryOverview") or ():
                code = str(row.get("BusinessCode") or "")
                amount = _amount(row.get("RealTotalCost"), self._api.currency, call)
                name, before = found.get(code, (bills.service_of(row), Money.zero(amount.currency)))
                found[code] = name, before + amount
        return found

    def _region(self, name: str) -> str | None:
        """The region of that display name; None where the list may not be asked or lacks it: a name is no cost."""
        if self._regions is None:
            try:
                names = self._inventory.region_names()
            except ProviderError as error:
                log.info("account %s: names of regions are not known: %s", self._api.account, error.code)
                names = {}
            self._regions = {bills.plain_name(shown): id for shown, id in names.items()}
        return self._regions.get(bills.plain_name(name))

    def _call(self, action: str) -> Call:
        return self._api.call_of("billing", "", action)


def _fresh(key: str, row: Mapping[str, Any], seen: dict[str, int]) -> str | None:
    """A key for this row, numbered when another row has it; None for a row that came with the page before as well.

    Rows of old months have no `Id`: of those, two that are alike are two.
    """
    mark = hash(repr(row)) if row.get("Id") else 0
    number, numbered = 1, key
    while numbered in seen:
        if mark and seen[numbered] == mark:
            return None
        number += 1
        numbered = f"{key}:{number}"
    seen[numbered] = mark
    return numbered


def _amount(value: Any, currency: str, call: Call) -> Money:
    try:
        return read_amount(value, currency) or Money.zero(currency)
    except ValueError:
        raise bad(call, "SummaryOverview", "an amount that is no number") from None


def _months_before(first: date, count: int) -> date:
    months = first.year * 12 + first.month - 1 - count
    return date(months // 12, months % 12 + 1, 1)
