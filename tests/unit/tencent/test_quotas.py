"""Quotas per zone."""

from costguard.ports import Quota
from costguard_tencent.connection import TencentConnection
from tests.fakes.server import Answer
from tests.fakes.tencent.server import TencentServer
from tests.unit.tencent.helpers import HOME


def test_instances_and_spot_vcpus(server: TencentServer, tencent: TencentConnection) -> None:
    found = tencent.quotas(HOME)
    assert Quota(f"pay-as-you-go instances in {HOME}-3", HOME, 500.0, 64.0, "instances") in found
    assert Quota(f"spot vCPUs in {HOME}-6", HOME, 400.0, 96.0, "vCPU") in found
    assert len(found) == 4


def test_what_is_not_told_is_not_zero(server: TencentServer, tencent: TencentConnection) -> None:
    """G05."""
    body = (
        b'{"Response": {"AccountQuotaOverview": {"Region": "x", "AccountQuota": {"PostPaidQuotaSet": ['
        b'{"Zone": "a", "TotalQuota": 5, "UsedQuota": null}, {"Zone": "b", "TotalQuota": null}],'
        b' "SpotPaidQuotaSet": null}}, "RequestId": "r"}}'
    )
    server.answer_next(Answer(200, body))
    assert tencent.quotas(HOME) == [Quota("pay-as-you-go instances in a", HOME, 5.0, None, "instances")]
