"""Policies as documents: what is told of a hook."""

import pytest

from costguard.rules.policy import Hook


@pytest.mark.parametrize(
    ("on", "run", "title"),
    [
        ("instance", "/opt/ckpt.sh", "/opt/ckpt.sh"),
        ("instance", "it's & done", "it's …"),
        ("daemon", "curl -H 'X-Key: s3cret' http://ckpt", "curl …"),
        ("webhook", "https://me:s3cret@ckpt.example.com/save?token=s3cret", "ckpt.example.com"),
    ],
)
def test_people_are_told_the_program_or_the_host_and_no_secret(on: str, run: str, title: str) -> None:
    assert Hook.model_validate({"on": on, "run": run, "timeout": "10s"}).title == title
