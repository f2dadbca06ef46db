"""A certificate for the mail servers of these tests, and a client that trusts it and nothing else."""

import ssl
from collections.abc import Callable
from datetime import timedelta

import pytest

from costguard.notify.email.smtp import SmtpClient
from tests.fakes.smtp import Certificate, make_certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def trusted(certificate: Certificate) -> Callable[[], ssl.SSLContext]:
    return lambda: ssl.create_default_context(cafile=str(certificate.cert))


@pytest.fixture
def smtp(trusted: Callable[[], ssl.SSLContext]) -> SmtpClient:
    return SmtpClient(deadline=timedelta(seconds=2), tls=trusted)
