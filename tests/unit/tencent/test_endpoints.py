"""Where calls go, and through which proxy."""

import pytest

from costguard_tencent.endpoints import VERSIONS, Endpoint, endpoint, proxies
from tests.fakes.tencent.server import VERSIONS as PLAYED

PROXY = "http://proxy:3128"


@pytest.mark.parametrize(
    ("product", "site", "configured", "url"),
    [
        ("cvm", "china", None, "https://cvm.tencentcloudapi.com"),
        ("billing", "china", None, "https://billing.tencentcloudapi.com"),
        ("cvm", "international", None, "https://cvm.intl.tencentcloudapi.com"),
        ("cvm", "china", "http://127.0.0.1:9001", "http://127.0.0.1:9001"),
        ("cvm", "china", "tc.example.com", "https://tc.example.com"),
    ],
)
def test_each_product_has_its_host(product: str, site: str, configured: str | None, url: str) -> None:
    assert endpoint(product, site, configured).url == url


def test_the_versions_are_the_published_ones() -> None:
    assert dict(VERSIONS) == PLAYED


def test_the_accounts_proxy_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://another:1")
    assert proxies(Endpoint("cvm.tencentcloudapi.com"), PROXY) == {"http": PROXY, "https": PROXY}


@pytest.mark.parametrize("no_proxy", [".tencentcloudapi.com", "tencentcloudapi.com", "*", "cvm.tencentcloudapi.com"])
def test_no_proxy_means_what_it_says(monkeypatch: pytest.MonkeyPatch, no_proxy: str) -> None:
    """The SDK looks for the whole host inside the text: of these, only the last would count."""
    monkeypatch.setenv("https_proxy", PROXY)
    assert proxies(Endpoint("cvm.tencentcloudapi.com"), None) == {"https": PROXY}
    monkeypatch.setenv("no_proxy", no_proxy)
    assert proxies(Endpoint("cvm.tencentcloudapi.com"), None) is None


@pytest.mark.parametrize("host", ["127.0.0.1:9001", "127.1.2.3:80", "localhost:9001"])
def test_this_machine_needs_no_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("http_proxy", PROXY)
    assert proxies(Endpoint(host, "http"), None) is None
