"""A fresh account on loopback for each test."""

from collections.abc import Iterator

import pytest

from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import connect


@pytest.fixture
def server() -> Iterator[AwsServer]:
    with AwsServer() as server:
        yield server


@pytest.fixture
def aws(server: AwsServer) -> Iterator[AwsConnection]:
    connection = connect(server)
    yield connection
    connection.close()
