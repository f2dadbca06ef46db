"""costguard_aliyun under the adapter contract, against a strict account on loopback."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

import costguard_aliyun
from costguard.ports import AccountSpec, Adapter
from costguard.testing.adapter_contract import AdapterContract
from costguard_aliyun.credentials import AliyunCredentials
from tests.contract.aliyun_cloud import AliyunCloud, aliyun_cloud
from tests.fakes.aliyun.server import KEY_ID, SECRET


class TestAliyun(AdapterContract):
    @pytest.fixture
    def adapter(self) -> Adapter:
        return costguard_aliyun.adapter

    @pytest.fixture
    def cloud(self) -> Iterator[AliyunCloud]:
        with aliyun_cloud() as cloud:
            yield cloud

    @pytest.fixture
    def spec(self, cloud: AliyunCloud) -> AccountSpec:
        keys = AliyunCredentials(access_key_id=KEY_ID, access_key_secret=SecretStr(SECRET))
        return AccountSpec("prod", credentials=keys, endpoint=cloud.server.url)
