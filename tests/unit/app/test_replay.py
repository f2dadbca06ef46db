"""Replays of what a database holds: the document, its page, and what the samples of a simulated cloud say."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from costguard.app.app import App
from costguard.app.backfill import backfill
from costguard.app.replay import Version, read_policies, run_replay
from costguard.app.replay_page import page
from costguard.config.load import load
from costguard.errors import ConfigErrors, UsageError
from costguard.testing.clock import FakeClock
from tests.unit.app.test_backfill import AT, CONFIG, POLICY

SINCE = timedelta(days=1)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The demo's boxes of one cloud with a day of their past."""
    folder = tmp_path_factory.mktemp("replay")
    (folder / "costguard.yaml").write_text(CONFIG, "utf-8")
    (folder / "policies.yaml").write_text(POLICY, "utf-8")
    app = App.open(load(folder / "costguard.yaml", {}), FakeClock(AT), threads=1)
    backfill(app, SINCE)
    yield app
    app.close()


def own(app: App) -> Version:
    return Version("configuration", app.config.policies)


@pytest.fixture(scope="module")
def told(filled: App) -> Any:
    return run_replay(filled, SINCE, [own(filled)])


def test_a_newcomer_gets_one_sentence_in_both_languages(told: Any) -> None:
    (version,) = told["versions"]
    hits = version["hit_within_hour"]
    assert told["headline"]["en"].startswith("the last day: ¥")
    assert f"could have been saved, {hits} stops would have hit work" in told["headline"]["en"]
    assert told["headline"]["zh"].startswith("最近 1 天：本可省 ¥")


def test_the_document_is_json_and_adds_up(told: Any) -> None:
    assert json.loads(json.dumps(told)) == json.loads(json.dumps(told))
    assert told["schema"] == "costguard.replay/1"
    (version,) = told["versions"]
    assert version["stopped"] == len(version["stops"]) > 0
    assert version["warned"] == len(version["warnings"])
    assert sum(p["stopped"] for p in version["policies"]) == version["stopped"]
    assert told["coverage"]["boxes_with_use"] > 0


def test_a_replay_changes_nothing_and_says_the_same_again(filled: App, told: Any) -> None:
    assert run_replay(filled, SINCE, [own(filled)]) == told


def test_two_versions_stand_side_by_side(filled: App, tmp_path: Path, told: Any) -> None:
    stricter = tmp_path / "stricter.yaml"
    stricter.write_text(POLICY.replace("45m", "4h"), "utf-8")
    both = run_replay(filled, SINCE, [own(filled), read_policies(stricter, filled.config, {})])
    first, second = both["versions"]
    assert first == told["versions"][0]
    assert second["name"] == str(stricter)
    assert second["stopped"] <= first["stopped"]


def test_policies_of_a_file_are_checked_like_all_others(filled: App, tmp_path: Path) -> None:
    unwarned = tmp_path / "unwarned.yaml"
    unwarned.write_text(POLICY.replace("{do: warn}, {after: 30m, do: stop}", "{do: stop}"), "utf-8")
    with pytest.raises(ConfigErrors):
        read_policies(unwarned, filled.config, {})
    with pytest.raises(UsageError, match="no policy file"):
        read_policies(tmp_path / "nothing.yaml", filled.config, {})


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_page_needs_nothing_else_and_escapes_names(told: Any, language: str) -> None:
    evil = json.loads(json.dumps(told))
    evil["versions"][0]["stops"][0]["subject"]["name"] = "<script>alert(1)</script>"
    html = page(evil, language)
    assert "<script" not in html
    assert "http" not in html, "nothing is fetched from anywhere"
    assert html.count("<rect") == len(told["versions"][0]["by_day"])
    assert told["headline"][language] in html
    assert f"{'策略' if language == 'zh' else 'Policies'} · configuration</h2>" in html
    assert f" · {'当前配置' if language == 'zh' else 'configuration'}</h2>" in page(evil, language, own=True)
    assert (">空闲<" in html) == (language == "zh")


MONEY = """\
policies:
  - name: day-cap
    rule: budget
    match: all
    when: {amount: "300 CNY", period: day, at: [100%], forecast_at: []}
    respond: [{do: notify}]
  - name: room
    rule: quota
    when: {used_above: 80%}
    respond: [{do: notify}]
"""


def test_what_people_would_have_been_told_of_money_is_said_in_both_languages(filled: App, tmp_path: Path) -> None:
    (tmp_path / "money.yaml").write_text(MONEY, "utf-8")
    told: Any = run_replay(filled, SINCE, [read_policies(tmp_path / "money.yaml", filled.config, {})])
    (version,) = told["versions"]
    assert version["notes"]
    for note in version["notes"]:
        assert note["policy"] == "day-cap"
        assert "¥300.00" in note["text"]["en"]
        assert "预算 ¥300.00" in note["text"]["zh"]
    assert [p["told"] for p in version["policies"]] == [len(version["notes"])]
    assert [one["policy"] for one in version["skipped"]] == ["room"]
    for language in ("zh", "en"):
        html = page(told, language)
        assert version["notes"][0]["text"][language].split("，")[0].split(",")[0] in html
        assert version["skipped"][0]["reason_zh" if language == "zh" else "reason"] in html


def test_a_fresh_history_points_to_backfill(tmp_path: Path) -> None:
    (tmp_path / "costguard.yaml").write_text(CONFIG, "utf-8")
    (tmp_path / "policies.yaml").write_text(POLICY, "utf-8")
    app = App.open(load(tmp_path / "costguard.yaml", {}), FakeClock(AT), threads=1)
    told: Any = run_replay(app, timedelta(days=30), [own(app)])
    app.close()
    for language in ("en", "zh"):
        (warning,) = told["warnings"][language]
        assert "`costguard backfill --since 30d`" in warning
        assert warning in page(told, language)
    assert "could have been saved" not in told["headline"]["en"]


def test_a_history_that_begins_late_says_since_when(filled: App) -> None:
    """A day was pulled; five are asked for."""
    told: Any = run_replay(filled, timedelta(days=5), [own(filled)])
    (warning,) = told["warnings"]["en"]
    assert "`costguard backfill --since 5d`" in warning
    assert not run_replay(filled, SINCE, [own(filled)])["warnings"]["en"]  # type: ignore[index,call-overload]
