"""costguard.yaml by itself: the defaults of the contract, and what the models refuse."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from costguard.config import problems, yaml
from costguard.config.settings import Settings
from costguard.errors import ConfigError

WHOLE = """\
version: 1
database: sqlite:///costguard.db
timezone: Asia/Shanghai
language: zh
currency: CNY
exchange_rates: {USD: "7.10"}
mode: dry_run
enforce_accounts: []
never_stop: {names: ["prod-*"], tags: {env: [prod]}}
limits: {per_hour: 5, share: 25%}
admins: []
accounts:
  - name: prod-aliyun
    provider: aliyun
    account_id: "123456"
    mode: enforce
    regions: [cn-beijing]
    credentials: {access_key_id: "${env:ALIYUN_AK}", access_key_secret: "${file:sk}"}
    endpoint: http://127.0.0.1:9001
    proxy: null
    currency: CNY
    billing_timezone: Asia/Shanghai
    owner: null
    team: null
    allow_release: false
prices: [prices.yaml]
metrics:
  - {name: dcgm, kind: prometheus, url: http://prom:9090, profile: dcgm, join: {label: instance_id}}
channels:
  - {name: ops, kind: dingtalk, url: "${env:URL}", secret: "${env:S}", fallback: team}
  - {name: dev, kind: dingtalk, mode: stream, client_id: "${env:S}", client_secret: "${env:S}"}
  - {name: team, kind: slack, token: "${env:S}", channel: C012, app_token: "${env:S}", language: en}
  - {name: hook, kind: slack, url: "${env:URL}"}
  - {name: mail, kind: email, smtp: "smtps://ops%40example.com:pw@smtp.example.com", to: [ops@example.com]}
owners:
  - name: zhangwei
    names: ["zw-*"]
    tags: {owner: [zhangwei, zw]}
    slack: U012
    dingtalk_mobile: "13800000000"
    email: zw@example.com
    language: zh
notify:
  default: [ops]
  group_wait: 30s
  repeat: 4h
  quiet_hours: {from: "23:00", to: "08:00", mention: false}
  dry_run: {to: [ops], digest: "18:00"}
  keep_max: 7d
reminders: [{at: "18:30", days: workdays, to: owner}]
reports: [{name: monthly, day: 1, at: "09:00", to: [mail], format: html, revise: final}]
policies: [policies/]
holidays_file: null
web:
  listen: 127.0.0.1:8787
  tokens: [{name: ci, token: "${env:TOKEN}", scopes: [read, act]}]
  public_url: null
heartbeat_url: null
retention: {usage_raw: 40d, usage_hourly: 400d, notices: 400d}
"""


def test_every_key_of_the_contract_is_known(tmp_path: Path) -> None:
    (tmp_path / "sk").write_text("x\n")
    env = {
        "ALIYUN_AK": "ak", "S": "s", "URL": "https://oapi.dingtalk.com/robot/send?access_token=a",
        "TOKEN": "0123456789abcdef",
    }  # fmt: skip
    errors: list[ConfigError] = []
    (document,) = yaml.parse(WHOLE, env, errors, file="f", folder=tmp_path)
    settings = problems.validate(Settings, document, (), errors)
    assert errors == []
    assert settings is not None
    assert settings.notify.keep_max == timedelta(days=7)
    assert settings.accounts[0].credentials is not None


def test_defaults_are_those_of_the_contract() -> None:
    settings = Settings(version=1)
    assert settings.database.get_secret_value() == "sqlite:///costguard.db"
    assert str(settings.timezone) == "Asia/Shanghai"
    assert (settings.language, settings.currency, settings.mode) == ("zh", "CNY", "dry_run")
    assert (settings.limits.per_hour, settings.limits.share) == (5, 25.0)
    assert settings.notify.group_wait == timedelta(seconds=30)
    assert settings.notify.repeat == timedelta(hours=4)
    assert settings.notify.quiet_hours is not None
    assert settings.notify.quiet_hours.start.hour == 23
    assert settings.notify.dry_run.digest.hour == 18
    assert settings.policies == ("policies/",)
    assert (settings.web.listen, settings.web.host, settings.web.port) == ("127.0.0.1:8787", "127.0.0.1", 8787)
    assert settings.retention.usage_raw == timedelta(days=40)
    assert settings.heartbeat_url is None
    assert (settings.never_stop.names, settings.never_stop.tags) == (("prod-*",), {"env": ("prod",)})
    assert settings.rates() == {"USD": ((datetime(1970, 1, 1, tzinfo=UTC), "7.10"),)}


def test_values_are_frozen_and_unknown_keys_refused() -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({"version": 1, "extra": 1})
    with pytest.raises(ValidationError):
        Settings(version=1).mode = "enforce"  # type: ignore[misc]


def test_an_empty_fence_is_no_fence() -> None:
    assert Settings.model_validate({"version": 1, "never_stop": {}}).never_stop.names == ()
    only_names = Settings.model_validate({"version": 1, "never_stop": {"names": "db-*"}}).never_stop
    assert (only_names.names, only_names.tags) == (("db-*",), {})


def test_the_built_in_rate_is_only_for_reports_in_yuan() -> None:
    assert Settings.model_validate({"version": 1, "currency": "USD"}).rates() == {}
    assert Settings.model_validate({"version": 1, "exchange_rates": {}}).rates() == {}


def test_exchange_rates_are_a_map_or_a_dated_list_in_the_configured_zone() -> None:
    flat = Settings.model_validate({"version": 1, "exchange_rates": {"USD": "7.10"}})
    assert flat.rates() == {"USD": ((datetime(1970, 1, 1, tzinfo=UTC), "7.10"),)}
    dated = Settings.model_validate(
        {
            "version": 1,
            "exchange_rates": [
                {"currency": "USD", "rate": "7.20", "from": "2026-02-01"},
                {"currency": "USD", "rate": "7.10"},
            ],
        }
    )
    assert dated.rates()["USD"] == (
        (datetime(1970, 1, 1, tzinfo=UTC), "7.10"),
        (datetime(2026, 1, 31, 16, tzinfo=UTC), "7.20"),
    )


@pytest.mark.parametrize("rate", ["0", "-7", "1e3", "", "seven", True])
def test_a_rate_is_a_positive_decimal(rate: object) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({"version": 1, "exchange_rates": {"USD": rate}})


def test_the_country_follows_the_zone_unless_it_is_said() -> None:
    assert Settings(version=1).country() == "CN"
    assert Settings.model_validate({"version": 1, "timezone": "Europe/Berlin"}).country() is None
    assert Settings.model_validate({"version": 1, "timezone": "Europe/Berlin", "holidays": "DE"}).country() == "DE"
