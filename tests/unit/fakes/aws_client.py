"""Clients of AWS's own SDK for the AWS server."""

from collections.abc import Callable
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.fakes.aws.server import KEY_ID, SECRET, AwsServer

HERE = "us-east-1"
NO_RETRY = Config(retries={"total_max_attempts": 1}, read_timeout=5)


@cache
def session() -> boto3.session.Session:
    """One for all tests: it has read AWS's models."""
    return boto3.session.Session()


def client(aws: AwsServer, service: str, region: str = HERE, secret: str = SECRET, key: str = KEY_ID) -> Any:
    return session().client(
        service,
        region,
        endpoint_url=aws.url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        config=NO_RETRY,
    )


def error_of(call: Callable[..., Any], **arguments: Any) -> tuple[str, int]:
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]["Code"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]
