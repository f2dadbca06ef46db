"""costguard_tencent under the adapter contract, against a strict account on loopback."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

import costguard_tencent
from costguard.ports import AccountSpec, Adapter
from costguard.testing.adapter_contract import AdapterContract
from tests.contract.tencent_cloud import TencentCloud, tencent_cloud
from tests.fakes.tencent.server import SECRET_ID, SECRET_KEY


class TestTencent(AdapterContract):
    @pytest.fixture
    def adapter(self) -> Adapter:
        return costguard_tencent.adapter

    @pytest.fixture
    def cloud(self) -> Iterator[TencentCloud]:
        with tencent_cloud() as cloud:
            yield cloud

    @pytest.fixture
    def spec(self, cloud: TencentCloud) -> AccountSpec:
        keys = costguard_tencent.TencentCredentials(secret_id=SECRET_ID, secret_key=SecretStr(SECRET_KEY))
        return AccountSpec("prod", credentials=keys, endpoint=cloud.server.url)
