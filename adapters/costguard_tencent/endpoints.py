"""Where each product answers, and through which proxy. The SDK's own reading of NO_PROXY is a substring test."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

HOME_REGIONS = {"china": "ap-guangzhou", "international": "ap-singapore"}
_SUFFIXES = {"china": "tencentcloudapi.com", "international": "intl.tencentcloudapi.com"}

# product → version of its API.
VERSIONS: Mapping[str, str] = {
    "billing": "2018-07-09",
    "cbs": "2017-03-12",
    "cvm": "2017-03-12",
    "monitor": "2018-07-24",
    "region": "2022-06-27",
    "sts": "2018-08-13",
    "tag": "2018-08-13",
    "tat": "2020-10-28",
    "vpc": "2017-03-12",
}

# Products that are asked without a region.
GLOBAL = frozenset({"billing", "region", "tag"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host, with its port where it has one, and http or https."""

    host: str
    scheme: str = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}"


def endpoint(product: str, site: str, configured: str | None) -> Endpoint:
    """Where a call goes: the account's own endpoint, else the product's at the account's site."""
    if configured:
        parts = urlsplit(configured)
        return Endpoint(parts.netloc, parts.scheme) if parts.netloc else Endpoint(configured)
    return Endpoint(f"{product}.{_SUFFIXES[site]}")


def proxies(where: Endpoint, configured: str | None) -> Mapping[str, str] | None:
    """The account's proxy, else the environment's with NO_PROXY honoured; never one for an address of this machine."""
    if configured:
        return {"http": configured, "https": configured}
    host = urlsplit(where.url).hostname or ""
    found = getproxies().get(where.scheme)
    if not found or host in {"localhost", "::1"} or host.startswith("127.") or proxy_bypass(host):
        return None
    return {where.scheme: found}
