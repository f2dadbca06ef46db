"""/healthz, /readyz and /metrics in the situations that a supervisor has to tell apart."""

from dataclasses import replace
from datetime import timedelta

import httpx
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text

from costguard.app.app import App
from costguard.app.serve import site_of
from costguard.daemon.health import Beats
from costguard.web.site import Site
from tests.web.served import client, served
from tests.web.stage import Stage


def _get(site: Site, path: str) -> httpx.Response:
    with served(site) as url:
        return httpx.get(url + path, trust_env=False)


def _leader(app: App) -> Site:
    return replace(site_of(app), leading=lambda: True)


def test_healthy_while_its_loops_come_round(staged: Stage) -> None:
    """B11: a loop that is old fails /healthz, so a supervisor restarts it."""
    at = [0.0]
    beats = Beats(lambda: at[0])
    beats.expect("cycle", 60)
    with staged.app() as app:
        site = replace(site_of(app), beats=beats)
        assert _get(site, "/healthz").json() == {"status": "ok", "silent": [], "failing": {}}
        beats.beat("cycle", error="it broke")
        failing = _get(site, "/healthz")
        assert (failing.status_code, failing.json()["failing"]) == (200, {"cycle": "it broke"})
        at[0] = 700.0
        dead = _get(site, "/healthz")
        assert (dead.status_code, dead.json()["silent"]) == (503, ["cycle"])


def test_a_leader_is_ready_while_its_sources_are_fresh(stage: Stage) -> None:
    with stage.app() as app:
        ready = _get(_leader(app), "/readyz")
        assert (ready.status_code, ready.json()) == (200, {"status": "ok", "leader": True, "problems": []})
        app.clock.sleep(timedelta(minutes=30).total_seconds())
        stale = _get(_leader(app), "/readyz")
        assert stale.status_code == 503
        assert "sim/r1 inventory: stale" in stale.json()["problems"]


def test_a_follower_is_ready_and_polls_nothing(stage: Stage) -> None:
    with stage.app() as app:
        app.clock.sleep(timedelta(hours=9).total_seconds())
        answer = _get(replace(site_of(app), leading=lambda: False), "/readyz")
        assert (answer.status_code, answer.json()["leader"]) == (200, False)


def test_an_old_schema_is_not_ready(stage: Stage) -> None:
    """A newer program beside an older database says so and does not guess."""
    with stage.app() as app:
        with app.database.write() as conn:
            conn.execute(text("update alembic_version set version_num = '0000'"))
        answer = _get(_leader(app), "/readyz")
        assert answer.status_code == 503
        assert "database" in answer.json()["problems"][0]


def test_metrics_are_what_prometheus_reads(staged: Stage) -> None:
    with staged.app() as app, client(app) as web:
        answer = web.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain")
        families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    samples = {name: {tuple(s.labels.values()): s.value for s in f.samples} for name, f in families.items()}
    assert all(family.documentation for family in families.values())
    burn = samples["costguard_burn_per_hour"]
    assert sum(burn.values()) > 55
    assert samples["costguard_paused"][()] == 0
    assert any("warned" in labels for labels in samples["costguard_actions_open"])
    saved = next(value for name, found in samples.items() if "saved" in name for value in found.values())
    assert saved > 0
