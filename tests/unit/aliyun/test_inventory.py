"""Regions, listings, live reads."""

import pytest

from costguard.domain.resource import Kind
from costguard.errors import BadResponse, NotFound, PermissionDenied
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import HOME, connect, ref


def test_regions_bring_their_endpoints(aliyun: AliyunConnection, server: AliyunServer) -> None:
    assert list(aliyun.regions()) == sorted(server.regions)
    assert aliyun.api._told["cn-wulanchabu"] == "ecs.cn-wulanchabu.aliyuncs.com"


def test_configured_regions_need_no_call(server: AliyunServer) -> None:
    aliyun = connect(server, regions=(HOME, " cn-hangzhou ", HOME))
    assert aliyun.regions() == (HOME, "cn-hangzhou")
    assert server.calls == []


def test_a_mistyped_region_reads_as_such(aliyun: AliyunConnection) -> None:
    with pytest.raises(NotFound, match="region"):
        list(aliyun.list(Kind.VM, "cn-bejing"))


def test_without_the_right_to_list_regions_the_listing_itself_speaks(server: AliyunServer) -> None:
    server.denied_actions.add("DescribeRegions")
    box = server.ecs.add(HOME, "ecs.g7.xlarge")
    aliyun = connect(server, regions=(HOME,))
    assert [vm.ref.id for vm in aliyun.list(Kind.VM, HOME)] == [box.id]
    aliyun.close()


def test_short_pages_are_no_end(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """G02: a page may hold fewer than asked for, and TotalCount says 0 in this mode."""
    server.ecs.short_pages = 3
    made = {server.ecs.add(HOME, "ecs.g7.xlarge").id for _ in range(10)}
    assert {vm.ref.id for vm in aliyun.list(Kind.VM, HOME)} == made


def test_an_instance_without_an_id_is_a_bad_response(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.add(HOME, "ecs.g7.xlarge", extra={"InstanceId": None})
    with pytest.raises(BadResponse):
        list(aliyun.list(Kind.VM, HOME))


def test_a_live_read_is_of_that_region(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, "ecs.g7.xlarge")
    assert aliyun.get(ref(box.id)).ref.id == box.id
    with pytest.raises(NotFound):
        aliyun.get(ref(box.id, region="cn-hangzhou"))


def test_a_denied_kind_is_denied(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.denied_actions.add("DescribeEipAddresses")
    with pytest.raises(PermissionDenied) as caught:
        list(aliyun.list(Kind.ADDRESS, HOME))
    assert caught.value.missing == "vpc:DescribeEipAddresses"
