"""Bills of our own making: rows with the columns that a provider's export has, as CSV and Parquet files."""

import csv
import gzip
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow
import pyarrow.parquet

FOCUS = {
    "BilledCost": "1.5", "BillingAccountId": "111", "BillingAccountName": "Example", "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z",
    "ChargeCategory": "Usage", "ChargeClass": "", "ChargeDescription": "an hour of a GPU",
    "ChargePeriodStart": "2026-11-05T10:00:00Z", "ChargePeriodEnd": "2026-11-05T11:00:00Z", "ConsumedQuantity": "1",
    "ConsumedUnit": "Hours", "ContractedCost": "1.5", "EffectiveCost": "1.4", "ListCost": "2", "ListUnitPrice": "2",
    "PricingCategory": "Standard", "PricingQuantity": "1", "ProviderName": "AWS", "RegionId": "us-east-1",
    "ResourceId": "i-1", "ResourceName": "", "ServiceName": "Amazon Elastic Compute Cloud", "SkuId": "SKU1",
    "SubAccountId": "111", "Tags": '{"team": "vision"}',
}  # fmt: skip
CUR = {
    "identity/LineItemId": "li-1", "identity/TimeInterval": "2026-11-05T10:00:00Z/2026-11-05T11:00:00Z",
    "bill/InvoiceId": "", "bill/PayerAccountId": "999", "bill/BillingPeriodStartDate": "2026-11-01T00:00:00Z",
    "bill/BillingPeriodEndDate": "2026-12-01T00:00:00Z", "lineItem/UsageAccountId": "111",
    "lineItem/LineItemType": "Usage", "lineItem/UsageStartDate": "2026-11-05T10:00:00Z",
    "lineItem/UsageEndDate": "2026-11-05T11:00:00Z", "lineItem/ProductCode": "AmazonEC2",
    "lineItem/UsageType": "BoxUsage:g6.xlarge", "lineItem/ResourceId": "i-1", "lineItem/UsageAmount": "1",
    "lineItem/CurrencyCode": "USD", "lineItem/UnblendedCost": "0.8048", "lineItem/LineItemDescription": "an hour",
    "product/ProductName": "Amazon Elastic Compute Cloud", "product/region": "us-east-1", "product/sku": "SKU1",
    "pricing/publicOnDemandCost": "0.8048", "pricing/unit": "Hrs", "reservation/ReservationARN": "",
    "reservation/EffectiveCost": "", "savingsPlan/SavingsPlanEffectiveCost": "", "resourceTags/user:team": "vision",
}  # fmt: skip

Rows = Iterable[Mapping[str, object]]


def focus(*changes: Mapping[str, object]) -> list[dict[str, object]]:
    """Rows of a FOCUS bill, each like FOCUS with its changes; a column of None is not there."""
    return [_row(FOCUS, change) for change in changes or ({},)]


def cur(*changes: Mapping[str, object]) -> list[dict[str, object]]:
    """Rows of a CUR with the column names of its first version."""
    return [_row(CUR, change) for change in changes or ({},)]


def _row(base: Mapping[str, object], change: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in {**base, **change}.items() if value is not None}


def said(row: Mapping[str, object]) -> list[object]:
    """The cells of a row as a file gives them: what is empty says nothing."""
    return [None if value in ("", "NULL") else value for value in row.values()]


def text(rows: Rows) -> str:
    """The rows as CSV."""
    found = list(rows)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in found for name in row)))
    writer.writeheader()
    writer.writerows(found)
    return out.getvalue()


def write(path: Path, rows: Rows) -> Path:
    """A file in the form that its name says: .csv, .csv.gz, .parquet, .parquet.gz."""
    if ".parquet" in path.name:
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([dict(row) for row in rows]), buffer)
        data = buffer.getvalue()
    else:
        data = text(rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
