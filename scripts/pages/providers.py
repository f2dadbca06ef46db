"""docs/providers.md: what each first-party adapter can do, from its manifest."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.pages.markdown import code, table

Manifest = Mapping[str, Any]
_SIGNS = {
    "full": "yes",
    "partial": "partly",
    "impossible": "impossible",
    "not_written": "not yet",
    "unknown": "unknown",
}


def manifests(root: Path) -> Sequence[Manifest]:
    """All manifests below adapters/, by id."""
    found = [tomllib.loads(path.read_text("utf-8")) for path in root.glob("adapters/*/manifest.toml")]
    return sorted(found, key=lambda manifest: str(manifest["id"]))


def page(root: Path) -> str:
    """The page."""
    every = manifests(root)
    names = list(dict.fromkeys(name for manifest in every for name in manifest["capabilities"]))
    matrix = [
        (code(name), *(_sign(manifest["capabilities"].get(name, "unknown")) for manifest in every)) for name in names
    ]
    parts = [
        "# Providers",
        "What each adapter says of itself in its `manifest.toml`; the contract suite proves it. *not yet*: the "
        "provider can, the adapter cannot; *impossible*: the provider cannot. A policy that needs what no matched "
        "account has is an error.",
        table(["capability", *(str(manifest["id"]) for manifest in every)], matrix),
    ]
    for manifest in every:
        parts += _section(manifest)
    return "\n\n".join(part for part in parts if part)


def _sign(value: str) -> str:
    return _SIGNS.get(value.partition(":")[0], value)


def _section(manifest: Manifest) -> list[str]:
    notes = [(code(name), value) for name, value in manifest["capabilities"].items() if ":" in value]
    metrics = [
        (code(name), facts["period"], facts["delay"], facts["statistic"], facts["cards"])
        for name, facts in manifest["metrics"].items()
    ]
    rights = [(code(name), _codes(values)) for name, values in manifest["permissions"].items() if values]
    open_rules = [(code(name), value) for name, value in manifest["quality"].items() if not value.startswith("done")]
    facts = [
        f"`provider: {manifest['id']}` · tier {manifest['tier']} · bills in {manifest['currency']}, days begin in "
        f"{manifest['billing_timezone']} · can stop: {_codes(manifest['stoppable'])} · "
        f"[documentation]({manifest['docs']})",
        f"Credentials: secret {_codes(manifest['credentials']['secret'])}; "
        f"plain {_codes(manifest['credentials']['plain'])}.",
    ]
    if manifest["group_tags"]:
        facts.append(f"Tags that make a machine a member of a group: {_codes(manifest['group_tags'])}.")
    if agent := manifest.get("agent"):
        facts.append(f"GPU use needs an agent: `{agent['install']}` {agent.get('note', '')}".rstrip() + ".")
    parts = [f"## {manifest['name']}", *facts]
    for head, title, rows in (
        (["capability", "note"], "What is partial or missing", notes),
        (["metric", "period", "delay", "statistic", "cards"], "Metrics", metrics),
        (["limit", "value"], "Limits that it keeps", [(code(k), v) for k, v in manifest["limits"].items()]),
        (["bills", "value"], "Bills", [(code(k), v) for k, v in manifest["billing"].items()]),
        (["capability", "rights"], "Rights", rights),
        (["quality rule", "state"], "Quality rules that are not done", open_rules),
    ):
        if rows:
            parts += [f"### {title} ({manifest['id']})", table(head, rows)]
    return parts


def _codes(values: Sequence[str]) -> str:
    return ", ".join(code(value) for value in values) or "none"
