"""Manifests as the contract reads them: straight from the TOML file, not through the loader that costguard uses.

Two readers of one format keep each other honest. This one explains every fault in a sentence.
"""

import importlib.util
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from costguard.domain.resource import Kind
from costguard.domain.time import parse_duration
from costguard.domain.usage import Metric, Statistic
from costguard.testing.builders import CAPABILITIES

# May be left out; left out is unknown.
OPTIONAL_CAPABILITIES = ("commands", "budgets")

# What the suite proves of every adapter. The second group is about the wire, and an adapter that sends
# nothing over a wire, or whose provider has no such thing, may say "exempt: why".
QUALITY = (
    "pagination", "unknown_states", "aware_times", "partial_usage", "errors_mapped", "in_doubt",
    "deadlines", "threads", "probe_changes_nothing",
)  # fmt: skip
EXEMPTIBLE = (
    "bad_answers", "secrets", "regions_denied", "refused_stops", "stop_lock", "groups", "request_snapshots",
    "restart_clock",
)  # fmt: skip

Manifest = Mapping[str, Any]

_ABSENT = ("impossible", "not_written")
_CAPABILITY = re.compile(r"full|partial: \S.*|impossible: \S.*|not_written|unknown")
_QUALITY = re.compile(r"done|exempt: \S.*|todo: \S.*")
_TEXT = ("id", "name", "docs", "tier", "currency", "billing_timezone")
_TABLES = ("credentials", "capabilities", "limits", "metrics", "billing", "permissions", "quality")


def manifest_path(package: str) -> Path:
    """Where the package keeps its manifest, without importing it. Raises FileNotFoundError."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "manifest.toml"
        if path.is_file():
            return path
    raise FileNotFoundError(f"{package} has no manifest.toml beside its __init__")


def load_manifest(package: str) -> Manifest:
    return tomllib.loads(manifest_path(package).read_text(encoding="utf-8"))


def excuse(manifest: Manifest, requirement: str) -> str | None:
    """Why a test that needs ``requirement`` may be skipped, or None when it must pass.

    A requirement is a capability, or a rule of [quality]. Only ``impossible`` and ``not_written`` excuse
    the first, only ``exempt`` of an exemptible rule the second.
    """
    if requirement in CAPABILITIES:
        value = str(manifest.get("capabilities", {}).get(requirement, "unknown"))
        return f"{requirement} = {value}" if value.startswith(_ABSENT) else None
    if requirement in EXEMPTIBLE:
        value = str(manifest.get("quality", {}).get(requirement, ""))
        return f"{requirement} = {value}" if value.startswith("exempt:") else None
    raise ValueError(f"neither a capability nor an exemptible quality rule: {requirement!r}")


def problems(manifest: Manifest) -> list[str]:
    """Everything that is wrong with a manifest, one sentence each; empty when it is right."""
    known = (*CAPABILITIES, *OPTIONAL_CAPABILITIES)
    found = [f"{key}: a text is missing" for key in _TEXT if not _is_text(manifest.get(key))]
    found += [f"[{table}] is missing" for table in _TABLES if not isinstance(manifest.get(table), dict)]
    if found:
        return found
    found += [f"{key}: nobody knows this key" for key in manifest if key not in _ALLOWED]
    if not re.fullmatch(r"[a-z][a-z0-9_]*", manifest["id"]):
        found.append("id: lower-case letters, digits and _ only")
    if not manifest["docs"].startswith("https://"):
        found.append("docs: an https:// address")
    if manifest["tier"] not in ("stable", "beta"):
        found.append("tier: stable or beta")
    if not re.fullmatch(r"[A-Z]{3}", manifest["currency"]):
        found.append("currency: an ISO 4217 code")
    try:
        ZoneInfo(manifest["billing_timezone"])
    except (ZoneInfoNotFoundError, ValueError):
        found.append("billing_timezone: an IANA zone")
    found += [
        f"stoppable: {kind!r} is no kind"
        for kind in manifest.get("stoppable", ())
        if kind not in Kind.__members__.values()
    ]
    found += [f"{key}: a list of texts" for key in ("stoppable", "group_tags") if not _is_texts(manifest.get(key))]
    found += [
        f"[credentials] {key}: a list of texts"
        for key in ("secret", "plain")
        if not _is_texts(manifest["credentials"].get(key))
    ]
    found += _wrong_values("capabilities", manifest["capabilities"], CAPABILITIES, _CAPABILITY)
    found += [
        f"[capabilities] {name}: nobody knows this name" for name in manifest["capabilities"] if name not in known
    ]
    found += _wrong_values("quality", manifest["quality"], (*QUALITY, *EXEMPTIBLE), _QUALITY)
    found += [
        f"[quality] {rule}: cannot be exempt"
        for rule in QUALITY
        if str(manifest["quality"].get(rule)).startswith("exempt")
    ]
    found += [
        f"[permissions] {key}: {'a list of texts' if key in known else 'no capability'}"
        for key, value in manifest["permissions"].items()
        if key not in known or not _is_texts(value)
    ]
    return found + _wrong_metrics(manifest["metrics"]) + _wrong_agent(manifest.get("agent"))


_ALLOWED = (*_TEXT, *_TABLES, "stoppable", "group_tags", "regions", "agent")


def _wrong_agent(agent: object) -> list[str]:
    """What `doctor` prints for a box whose GPU use is not seen. The table may be left out."""
    if agent is None:
        return []
    if not isinstance(agent, dict) or not _is_text(agent.get("install")):
        return ["[agent] install: a command line is missing"]
    blanks = set(re.findall(r"\{(\w*)\}", agent["install"])) - {"id", "region"}
    return [f"[agent] install: {blank!r} is not filled in" for blank in sorted(blanks)] + [
        f"[agent] {key}: nobody knows this key" for key in agent if key not in ("install", "note")
    ]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(_is_text(item) for item in value)


def _wrong_values(
    table: str, values: Mapping[str, object], names: tuple[str, ...], shape: re.Pattern[str]
) -> list[str]:
    missing = [f"[{table}] {name}: missing" for name in names if name not in values]
    wrong = [
        f"[{table}] {name}: {value!r} is not one of {shape.pattern.replace(chr(92) + 'S.*', '…')}"
        for name, value in values.items()
        if not isinstance(value, str) or not shape.fullmatch(value)
    ]
    return missing + wrong


def _wrong_metrics(metrics: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name, facts in metrics.items():
        if name not in Metric.__members__.values():
            found.append(f"[metrics.{name}]: no such metric")
            continue
        for key in ("period", "delay"):
            try:
                span = parse_duration(str(facts.get(key)))
            except ValueError as error:
                found.append(f"[metrics.{name}] {key}: {error}")
            else:
                if key == "period" and not span:
                    found.append(f"[metrics.{name}] period: longer than nothing")
        if facts.get("statistic") not in Statistic.__members__.values():
            found.append(f"[metrics.{name}] statistic: max, mean or last")
        if facts.get("cards") not in ("each", "mean"):
            found.append(f"[metrics.{name}] cards: each or mean")
    return found
