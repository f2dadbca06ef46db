"""JSON Schemas for editors."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from costguard import assets
from costguard.config import yaml
from costguard.config.schema import field_docs, policies_schema, settings_schema
from costguard.config.settings import Account, Settings
from costguard.rules.registry import RULES


def test_every_setting_has_its_words() -> None:
    schema: dict[str, Any] = settings_schema()
    assert schema["$schema"].startswith("https://json-schema.org/")
    silent = [
        f"{name}.{key}"
        for name, model in {"Settings": schema, **schema["$defs"]}.items()
        for key, field in model.get("properties", {}).items()
        if not field.get("description") and key != "kind"
    ]
    assert silent == []
    assert set(schema["properties"]) == {field.alias or name for name, field in Settings.model_fields.items()}
    assert schema["additionalProperties"] is False


def test_a_list_of_texts_may_be_written_as_one_text() -> None:
    regions = settings_schema()["$defs"]["Account"]["properties"]["regions"]
    assert {option["type"] for option in regions["anyOf"]} == {"string", "array"}


def test_policies_are_told_apart_by_their_rule() -> None:
    schema: dict[str, Any] = policies_schema()
    mapping = schema["properties"]["policies"]["items"]["discriminator"]["mapping"]
    assert set(mapping) == set(RULES)
    assert all(reference.removeprefix("#/$defs/") in schema["$defs"] for reference in mapping.values())


def test_paragraphs_are_read_from_the_source() -> None:
    docs = field_docs(Account)
    assert docs["allow_release"].startswith("Without it nothing of this account is ever destroyed")
    assert "\n" not in docs["account_id"]


SHIPPED = [path for path in sorted(assets.policies().rglob("*.yaml")) if path.parent.name != "tests"]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_policies_fit_the_schema(path: Path) -> None:
    document = yaml.read(path, {}, [])
    assert document is not None
    found = [error.message for error in Draft202012Validator(policies_schema()).iter_errors(document.data)]
    assert found == []


def test_schemas_are_valid_and_refuse_what_loading_refuses() -> None:
    for schema in (policies_schema(), settings_schema()):
        Draft202012Validator.check_schema(schema)
    settings = Draft202012Validator(settings_schema())
    assert settings.is_valid({"version": 1, "limits": {"share": "25%"}, "notify": {"default": "ops"}})
    assert not settings.is_valid({"version": 1, "limits": {"share": 25}})
    assert not settings.is_valid({"version": 1, "zone": "Asia/Shanghai"})
