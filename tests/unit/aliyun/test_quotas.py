"""vCPU quotas."""

from costguard.ports import Quota
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import HOME


def test_quotas_have_a_limit_and_maybe_a_use(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.quotas["spot-instance-vcpu-count"] = (800, 0)
    assert aliyun.quotas(HOME) == [
        Quota("pay-as-you-go vCPUs", HOME, 2_000.0, 96.0, "vCPU"),
        Quota("spot vCPUs", HOME, 800.0, 0.0, "vCPU"),
    ]


def test_what_is_not_told_is_unknown(aliyun: AliyunConnection, server: AliyunServer) -> None:
    del server.ecs.quotas["spot-instance-vcpu-count"]
    server.ecs.quotas["postpaid-instance-vcpu-count"] = (2_000, "?")  # type: ignore[assignment]
    assert aliyun.quotas(HOME) == [Quota("pay-as-you-go vCPUs", HOME, 2_000.0, None, "vCPU")]
