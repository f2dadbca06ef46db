"""Where each product answers, and through which proxy. Endpoints are always told to the SDK: its own table is stale."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

HOME_REGIONS = {"china": "cn-hangzhou", "international": "ap-southeast-1"}

# The SDK takes a proxy from the environment, NO_PROXY ignored, unless it is given a mapping that is not empty.
_DIRECT = {"direct": "yes"}


@dataclass(frozen=True, slots=True)
class Product:
    """One product of RPC style. `host` takes `{region}`; `international`: the other site's, where that differs."""

    version: str
    host: str
    international: str | None = None


PRODUCTS: Mapping[str, Product] = {
    "ecs": Product("2014-05-26", "ecs.{region}.aliyuncs.com"),
    "vpc": Product("2016-04-28", "vpc.{region}.aliyuncs.com"),
    "cms": Product("2019-01-01", "metrics.{region}.aliyuncs.com"),
    "sts": Product("2015-04-01", "sts.aliyuncs.com"),
    "bss": Product("2017-12-14", "business.aliyuncs.com", "business.ap-southeast-1.aliyuncs.com"),
}
_EXCEPTIONS = {("ecs", "cn-hangzhou"): "ecs-cn-hangzhou.aliyuncs.com"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host, with its port where it has one, and http or https."""

    host: str
    scheme: str = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}"


def endpoint(product: str, region: str, site: str, configured: str | None, told: Mapping[str, str]) -> Endpoint:
    """Where a call goes: the account's own endpoint, else what DescribeRegions told for ECS, else the rule."""
    if configured:
        parts = urlsplit(configured)
        return Endpoint(parts.netloc, parts.scheme) if parts.netloc else Endpoint(configured)
    if product == "ecs" and told.get(region):
        return Endpoint(told[region])
    if (product, region) in _EXCEPTIONS:
        return Endpoint(_EXCEPTIONS[product, region])
    known = PRODUCTS[product]
    host = known.international if site == "international" and known.international else known.host
    return Endpoint(host.format(region=region))


def proxies(where: Endpoint, configured: str | None) -> Mapping[str, str]:
    """The account's proxy, else the environment's with NO_PROXY honoured; never one for an address of this machine."""
    if configured:
        return {"http": configured, "https": configured}
    host = urlsplit(where.url).hostname or ""
    found = getproxies().get(where.scheme)
    if not found or host in {"localhost", "::1"} or host.startswith("127.") or proxy_bypass(host):
        return _DIRECT
    return {where.scheme: found}
