"""Where calls go, and through which proxy."""

import pytest

from costguard_aliyun.endpoints import Endpoint, endpoint, proxies

TOLD = {"cn-wulanchabu": "ecs.cn-wulanchabu.aliyuncs.com", "cn-hangzhou": "ecs.aliyuncs.com", "cn-x": ""}


@pytest.mark.parametrize(
    ("product", "region", "site", "host"),
    [
        ("ecs", "cn-wulanchabu", "china", "ecs.cn-wulanchabu.aliyuncs.com"),
        ("ecs", "cn-hangzhou", "china", "ecs.aliyuncs.com"),
        ("ecs", "cn-x", "china", "ecs.cn-x.aliyuncs.com"),
        ("cms", "cn-wulanchabu", "china", "metrics.cn-wulanchabu.aliyuncs.com"),
        ("vpc", "cn-beijing", "china", "vpc.cn-beijing.aliyuncs.com"),
        ("sts", "cn-beijing", "china", "sts.aliyuncs.com"),
        ("bss", "cn-beijing", "china", "business.aliyuncs.com"),
        ("bss", "ap-southeast-1", "international", "business.ap-southeast-1.aliyuncs.com"),
    ],
)
def test_each_product_has_its_host_and_https(product: str, region: str, site: str, host: str) -> None:
    """The SDK's default is plain HTTP, and its own table sends a new region to Hangzhou."""
    assert endpoint(product, region, site, None, TOLD).url == f"https://{host}"


def test_before_the_regions_are_known_hangzhou_has_its_older_name() -> None:
    assert endpoint("ecs", "cn-hangzhou", "china", None, {}).host == "ecs-cn-hangzhou.aliyuncs.com"


def test_an_accounts_own_endpoint_takes_everything() -> None:
    assert endpoint("bss", "cn-x", "china", "http://127.0.0.1:8080", TOLD) == Endpoint("127.0.0.1:8080", "http")
    assert endpoint("ecs", "cn-hangzhou", "china", "https://ecs.example", TOLD) == Endpoint("ecs.example", "https")
    assert endpoint("ecs", "cn-hangzhou", "china", "ecs.example", TOLD) == Endpoint("ecs.example", "https")


def test_the_environments_proxy_is_used_and_no_proxy_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "metrics.cn-beijing.aliyuncs.com")
    assert proxies(Endpoint("ecs.aliyuncs.com"), None) == {"https": "http://proxy:3128"}
    direct = proxies(Endpoint("metrics.cn-beijing.aliyuncs.com"), None)
    # The SDK takes the environment's proxy for an empty mapping.
    assert direct
    assert "https" not in direct


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:1", "[::1]:1"])
def test_this_machine_is_never_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    found = proxies(Endpoint(host, "http"), None)
    assert found
    assert "http" not in found


def test_the_accounts_own_proxy_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    own = "http://user:pass@own:3128"
    assert proxies(Endpoint("ecs.aliyuncs.com"), own) == {"http": own, "https": own}
