"""/api/v1 on a real database: documents, levers, scopes, and that looking changes nothing."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from costguard.app.app import App
from costguard.domain.action import ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.snapshot import SourceState
from costguard.web.auth import SCOPES, Token
from costguard.web.openapi import LEVERS
from tests.web.served import client
from tests.web.stage import HOSTILE, Stage

TOKENS = tuple(Token(f"{scope}-only", f"secret-{scope}", frozenset({scope})) for scope in SCOPES)
TABLES = ("fleet", "findings", "actions", "ledger", "sources", "cycle", "spend")
SUBJECT = {"type", "account", "provider", "region", "kind", "id", "name"}


@pytest.fixture(scope="module")
def read(staged: Stage) -> Iterator[httpx.Client]:
    with staged.app() as app, client(app) as found:
        yield found


@pytest.fixture
def pull(stage: Stage) -> Iterator[httpx.Client]:
    with stage.app() as app, client(app) as found:
        yield found


def _money(value: Any) -> None:
    if value is not None:
        assert set(value) == {"amount", "currency"}
        assert re.fullmatch(r"-?\d+(\.\d+)?", value["amount"])
        assert re.fullmatch(r"[A-Z]{3}", value["currency"])


def _instants(value: Any) -> None:
    """Whatever looks like a time is UTC with a Z."""
    if isinstance(value, dict):
        for one in value.values():
            _instants(one)
    elif isinstance(value, list):
        for one in value:
            _instants(one)
    elif isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        assert value.endswith("Z")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_names_its_schema(read: httpx.Client, name: str) -> None:
    answer = read.get(f"/api/v1/{name}")
    assert answer.status_code == 200
    assert answer.json()["schema"] == f"costguard.{name}/1"
    _instants(answer.json())


def test_fleet(read: httpx.Client) -> None:
    rows = {r["subject"]["name"]: r for r in read.get("/api/v1/fleet").json()["resources"] if r["gpus"]}
    assert rows["forgotten"]["activity"] == "off"
    assert rows["forgotten"]["gpus"] == {"model": "NVIDIA A100 80G", "count": "8", "memory_mib": 81920}
    assert rows["at-work"]["activity"] == "active"
    assert rows["blind"]["activity"] == "unknown"
    assert rows["kept"]["keep"]["by"] == "li"
    assert rows["warned"]["action"]["state"] == "warned"
    assert rows[HOSTILE]["owner"] == "li"
    for row in rows.values():
        assert set(row["subject"]) == SUBJECT
        _money(row["price_per_hour"])


def test_findings_actions_and_the_cycle_are_what_the_contract_says(read: httpx.Client) -> None:
    cycle = read.get("/api/v1/cycle").json()
    assert set(cycle) >= {"mode", "started_at", "finished_at", "partial", "sources", "findings", "decisions", "actions"}
    assert cycle["mode"] == "enforce"
    assert cycle["notices"] is not None
    for found in (*cycle["findings"], *read.get("/api/v1/findings").json()["findings"]):
        assert set(found) == {"policy", "rule", "subject", "since", "evidence", "waste_per_hour"}
        _money(found["waste_per_hour"])
    for decision in cycle["decisions"]:
        assert decision["verdict"] in {"allow", "defer", "deny"}
        assert decision["code"] in {code.value for code in GuardCode}
    for action in read.get("/api/v1/actions").json()["actions"]:
        assert action["state"] in {state.value for state in ActionState}
        assert set(action) >= {"id", "subject", "policy", "response", "state", "error"}


def test_sources_and_ledger(read: httpx.Client) -> None:
    for source in read.get("/api/v1/sources").json()["sources"]:
        assert set(source) >= {"account", "region", "source", "state", "count", "age_s", "error"}
        assert source["state"] in {state.value for state in SourceState}
    entries = read.get("/api/v1/ledger").json()["entries"]
    assert {"executed", "confirmed", "saving", "lever"} <= {entry["kind"] for entry in entries}
    assert [entry["id"] for entry in entries] == sorted((entry["id"] for entry in entries), reverse=True)
    for entry in entries:
        _money(entry["money"])


def test_explain_of_one_box_and_of_two(read: httpx.Client) -> None:
    """A person may ask why, and gets the signals with their freshness."""
    document = read.get("/api/v1/explain", params={"resource": "warned"}).json()
    assert document["schema"] == "costguard.explain/1"
    assert document["activity"]["verdict"] == "idle"
    assert {policy["policy"] for policy in document["policies"]} == {"idle-dev", "untagged"}
    codes = [
        g["code"]
        for p in document["policies"]
        for ladder in p["ladders"]
        for g in ladder["guards"]
        if g["answer"] != "allow"
    ]
    assert "not_armed" not in codes, "who the account is was confirmed by the daemon"
    twin = read.get("/api/v1/explain", params={"resource": "twin"})
    assert twin.status_code == 422
    assert len(twin.json()["errors"][0]["candidates"]) == 2
    assert read.get("/api/v1/explain").status_code == 422
    assert read.get("/api/v1/explain", params={"resource": "warned", "at": "yesterday"}).status_code == 422


def _database(app: App) -> dict[str, Any]:
    with app.database.read() as conn:
        names = conn.execute(text("select name from sqlite_master where type = 'table' order by name")).scalars()
        return {name: conn.execute(text(f'select * from "{name}"')).fetchall() for name in names}


def test_looking_changes_nothing(stage: Stage) -> None:
    with stage.app() as app, client(app) as web:
        before = _database(app)
        pages = ["/", *(f"/parts/{p}" for p in ("clock", "tiles", "fleet", "wide", "findings", "log", "series"))]
        for path in (*(f"/api/v1/{t}" for t in TABLES), "/api/v1/openapi.json", "/metrics", "/readyz", *pages):
            assert web.get(path).status_code in (200, 503), path
        web.get("/api/v1/explain", params={"resource": "warned"})
        for lever in LEVERS:
            assert web.get(f"/api/v1/{lever}").status_code == 405
        assert _database(app) == before


def test_keep_until_it_is_over(pull: httpx.Client) -> None:
    answer = pull.post("/api/v1/keep", json={"resource": "warned", "reason": "demo tomorrow", "for": "4h"})
    assert answer.status_code == 200
    document = answer.json()
    assert document["schema"] == "costguard.lever/1"
    assert document["subject"]["name"] == "warned"
    assert document["keep"]["by"] == "local"
    assert pull.post("/api/v1/unkeep", json={"resource": document["ref"]}).status_code == 200
    again = pull.post("/api/v1/unkeep", json={"resource": "warned"})
    assert again.status_code == 422
    assert "not kept" in again.json()["errors"][0]["message"]


def test_keep_until_idle_and_until_a_time(pull: httpx.Client, stage: Stage) -> None:
    idle = pull.post("/api/v1/keep", json={"resource": "at-work", "reason": "r", "until_idle": True, "max": "2d"})
    assert idle.json()["keep"]["until_idle"] is True
    at = (stage.ended + timedelta(hours=3)).isoformat()
    assert pull.post("/api/v1/keep", json={"resource": "at-work", "reason": "r", "until": at}).status_code == 200


@pytest.mark.parametrize(
    ("lever", "body", "says"),
    [
        ("keep", {"resource": "warned", "reason": "r"}, "one of: for, until, until_idle"),
        ("keep", {"resource": "warned", "reason": "r", "for": "4h", "until_idle": True}, "one of"),
        ("keep", {"resource": "warned", "for": "4h"}, "reason is needed"),
        ("keep", {"reason": "r", "for": "4h"}, "resource is needed"),
        ("keep", {"resource": "warned", "reason": "r", "for": "4 hours or so"}, "for:"),
        ("keep", {"resource": "warned", "reason": "r", "for": "8d"}, "at most 7d"),
        ("keep", {"resource": "warned", "reason": "r", "until": "2020-01-01T00:00:00Z"}, "past"),
        ("keep", {"resource": "warned", "reason": "r", "until": "2036-01-01T00:00:00"}, "with a zone"),
        ("keep", {"resource": "warned", "reason": "r", "until_idle": "yes"}, "true or false"),
        ("keep", {"resource": "warned", "reason": "r", "for": "4h", "owner": "x"}, "unknown key 'owner'"),
        ("keep", {"resource": 7, "reason": "r", "for": "4h"}, "resource is needed, as text"),
        ("keep", {"resource": "nobody", "reason": "r", "for": "4h"}, "no resource is called"),
        ("heartbeat", {"resource": "warned"}, "for is needed"),
        ("heartbeat", {"resource": "warned", "for": "2d"}, "24h"),
        ("cancel", {"action": "nope"}, "no action"),
        ("cancel", {}, "action is needed"),
        ("approve", {"action": "nope"}, "no action"),
        ("dispute", {"action": "nope"}, "reason is needed"),
        ("undo", {"action": "nope"}, "no action"),
        ("resume", {}, "nothing is paused"),
        ("pause", {"for": "soon"}, "for:"),
    ],
)  # fmt: skip
def test_what_a_lever_cannot_mean(read: httpx.Client, lever: str, body: dict[str, Any], says: str) -> None:
    answer = read.post(f"/api/v1/{lever}", json=body)
    assert answer.status_code == 422
    document = answer.json()
    assert document["schema"] == "costguard.error/1"
    assert says in document["errors"][0]["message"]


def test_an_ambiguous_name_comes_back_with_the_candidates(read: httpx.Client) -> None:
    for lever, more in (("keep", {"reason": "r", "for": "1h"}), ("claim", {}), ("heartbeat", {"for": "5m"})):
        answer = read.post(f"/api/v1/{lever}", json={"resource": "twin", **more})
        assert answer.status_code == 422
        assert len(answer.json()["errors"][0]["candidates"]) == 2


def test_claim_heartbeat_pause_and_resume(pull: httpx.Client) -> None:
    assert pull.post("/api/v1/claim", json={"resource": "blind", "owner": "li"}).json()["owner"] == "li"
    assert pull.post("/api/v1/heartbeat", json={"resource": "warned", "for": "30m"}).json()["until"].endswith("Z")
    paused = pull.post("/api/v1/pause", json={"for": "2h", "reason": "moving"}).json()
    assert paused["paused"] is True
    assert paused["paused_until"]
    assert pull.post("/api/v1/resume", json={}).json() == {
        "schema": "costguard.lever/1", "paused": False, "paused_until": None,
    }  # fmt: skip
    kinds = [e["text"] for e in pull.get("/api/v1/ledger").json()["entries"][:3]]
    assert any("resumed" in text for text in kinds)
    assert any("claimed for li" in text for text in kinds)


def test_cancel_dispute_and_undo(pull: httpx.Client) -> None:
    actions = {
        a["subject"]["name"]: a for a in pull.get("/api/v1/actions").json()["actions"] if a["code"] != "protected"
    }
    ended = pull.post("/api/v1/cancel", json={"action": actions["warned"]["id"][:8]}).json()
    assert ended["action"]["state"] == "cancelled"
    assert pull.post("/api/v1/cancel", json={"action": actions["warned"]["id"]}).status_code == 422
    wrong = pull.post("/api/v1/dispute", json={"action": actions["forgotten"]["id"], "reason": "was in use"})
    assert wrong.json()["action"]["disputed_by"] == "local"
    again = pull.post("/api/v1/undo", json={"action": actions["forgotten"]["id"]})
    assert again.status_code == 200, again.text
    refused = pull.post("/api/v1/undo", json={"action": actions["warned"]["id"]})
    assert "no finished stop" in refused.json()["errors"][0]["message"]


NEEDS = {
    "read": {"read", "act", "admin"},
    "heartbeat": {"heartbeat", "act", "admin"},
    "act": {"act"},
    "admin": {"admin"},
}


def test_what_changes_anything_needs_more_than_reading() -> None:
    """K04: a dispute, too: it takes savings back and holds a box in dry run."""
    assert {name for name, lever in LEVERS.items() if lever.scope not in ("act", "admin")} == {"heartbeat"}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_token_does_what_its_scope_says(staged: Stage, scope: str) -> None:
    """K04: least privilege; who may read may not act."""
    with staged.app() as app, client(app, TOKENS, authorization=f"Bearer secret-{scope}") as web:
        assert (web.get("/api/v1/fleet").status_code == 200) == (scope in NEEDS["read"])
        for name, lever in LEVERS.items():
            answer = web.post(f"/api/v1/{name}", json={"nonsense": 1})
            allowed = scope in NEEDS[lever.scope]
            assert answer.status_code == (422 if allowed else 403), name
            if not allowed:
                assert f"no scope {lever.scope}" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic secret-read"}])
def test_without_a_right_token_nothing_is_said(staged: Stage, header: dict[str, str]) -> None:
    with staged.app() as app, client(app, TOKENS, **header) as web:
        for path in ("/", "/api/v1/fleet", "/metrics", "/parts/fleet", "/api/v1/openapi.json"):
            answer = web.get(path)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "warned" not in answer.text
        assert web.post("/api/v1/pause", json={}).status_code == 401
        assert web.get("/healthz").status_code == 200


def test_a_token_that_is_no_ascii_is_wrong_and_no_crash(staged: Stage) -> None:
    with staged.app() as app, client(app, TOKENS) as web:
        assert (
            web.get("/api/v1/fleet", headers={"authorization": "Bearer pässwort".encode("latin-1")}).status_code == 401
        )


def test_no_page_elsewhere_reaches_a_server_without_tokens(staged: Stage) -> None:
    """DNS rebinding and forms of foreign pages."""
    with staged.app() as app, client(app) as web:
        for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:8787", ""):
            assert web.get("/api/v1/fleet", headers={"host": host}).status_code == 403
        for host in ("localhost:8787", "127.0.0.1:1", "[::1]:8787"):
            assert web.get("/api/v1/fleet", headers={"host": host}).status_code == 200
        for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""):
            answer = web.post("/api/v1/pause", content="{}", headers={"content-type": kind})
            assert answer.status_code == 403
        assert web.post("/api/v1/pause", content="[]", headers={"content-type": "application/json"}).status_code == 422
        assert web.post("/api/v1/pause", content="{", headers={"content-type": "application/json"}).status_code == 422
        big = json.dumps({"reason": "x" * 100_000})
        assert web.post("/api/v1/pause", content=big, headers={"content-type": "application/json"}).status_code == 422
        assert web.get("/api/v1/fleet").status_code == 200


def test_openapi_describes_what_is_served(read: httpx.Client) -> None:
    document = read.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["info"]["title"]
    assert document["info"]["version"]
    names, ids = set(), []
    for path, operations in document["paths"].items():
        assert path.startswith("/api/v1/")
        for method, operation in operations.items():
            names.add((method, path.removeprefix("/api/v1/")))
            ids.append(operation["operationId"])
            assert operation["summary"]
            assert operation["responses"]["200"]["description"]
            for parameter in operation.get("parameters", ()):
                assert parameter["in"] in ("query", "path")
                assert "schema" in parameter
            if method == "post":
                schema = operation["requestBody"]["content"]["application/json"]["schema"]
                assert set(schema["required"]) <= set(schema["properties"])
    assert len(ids) == len(set(ids))
    assert names == {("get", t) for t in (*TABLES, "explain", "spend")} | {("post", lever) for lever in LEVERS}
    assert set(document["security"][0]) <= set(document["components"]["securitySchemes"])


def test_headers_of_pages_and_answers(read: httpx.Client) -> None:
    for path in ("/", "/parts/fleet", "/parts/series", "/api/v1/fleet", "/static/app.js", "/healthz"):
        headers = read.get(path).headers
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer", path
    policy = read.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "no-store" in read.get("/api/v1/fleet").headers["cache-control"]


def test_a_path_that_is_not_there_is_an_error_document(read: httpx.Client) -> None:
    answer = read.get("/api/v1/nosuch")
    assert answer.status_code == 404
    assert answer.json()["schema"] == "costguard.error/1"
