"""The fence errs to protect: spelling never takes a resource out of it."""

from typing import Any

import pytest

from costguard.engine.fence import fence
from costguard.engine.settings import EngineSettings
from costguard.testing.builders import make_resource

FENCE = EngineSettings(fence_names=("prod-*",), fence_tags={"env": ("prod", "live")})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "prod-1"}, "never_stop fences the name prod-1"),
        ({"name": "PROD-1"}, "never_stop fences the name PROD-1"),
        ({"tags": {"Env": "Live"}}, "never_stop fences the tag Env=Live"),
        ({"name": "not-prod-1", "tags": {"env": "dev"}}, None),
        ({"tags": {}}, None),
    ],
)
def test_a_name_or_a_tag_fences(changes: dict[str, Any], why: str | None) -> None:
    assert fence(make_resource(**changes), FENCE) == why
