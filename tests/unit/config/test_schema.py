"""JSON Schemas for editors."""

from typing import Any

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
