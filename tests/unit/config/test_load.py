"""Whole configurations: every mistake of every file at its place, nothing half-loaded, secrets nowhere."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from costguard.config import yaml
from costguard.config.load import Config, load
from costguard.errors import ConfigError, ConfigErrors

BAD = Path(__file__).parent / "bad"
ENV = {"SECRET_TEXT": "s3cretText"}
SECRETS = ("verySecret", "t0kenOfTheRobot", "s3cretText")

GOOD = """\
version: 1
accounts:
  - {name: prod, provider: simulated, options: {cloud: alibaba}}
  - {name: cloud, provider: aws}
channels:
  - {name: ops, kind: slack, url: "http://127.0.0.1:9/hook"}
notify: {default: [ops]}
owners: [{name: li}]
exchange_rates: {USD: "7.10"}
"""


def write(folder: Path, text: str, policies: dict[str, str] | None = None) -> Path:
    (folder / "policies").mkdir(exist_ok=True)
    for name, body in (policies or {}).items():
        (folder / "policies" / name).write_text(body, "utf-8")
    path = folder / "costguard.yaml"
    path.write_text(text, "utf-8")
    return path


def errors_of(path: Path, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        load(path, ENV if env is None else env)
    return [str(error) for error in caught.value.errors]


@pytest.mark.parametrize("name", sorted(path.stem for path in BAD.glob("*.yaml")))
def test_every_mistake_of_a_bad_file_is_told_at_its_place(name: str, tmp_path: Path) -> None:
    """D09, M06: ten and more bad files; beside each stands what must be said, line by line."""
    text = (BAD / f"{name}.yaml").read_text("utf-8")
    if name.startswith("policy-"):
        path = write(tmp_path, GOOD, {"bad.yaml": text})
    else:
        path = write(tmp_path, text)
    told = [line.replace(f"{tmp_path}/", "") for line in errors_of(path)]
    assert "\n".join(told) + "\n" == (BAD / f"{name}.errors").read_text("utf-8")
    assert not any(secret in line for line in told for secret in SECRETS)


def test_the_mistakes_of_all_files_come_in_one_run(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        GOOD + "prices: [book.yaml]\nholidays_file: days.yaml\nlimits: {share: 5}\n",
        {
            "a.yaml": "policies: [{name: a, rule: idel, respond: [{do: notify}]}]\n",
            "b.yaml": "policies:\n\t- broken\n",
        },
    )
    (tmp_path / "book.yaml").write_text("[{provider: aws, region: r, sku: s, price: 8}]\n")
    (tmp_path / "days.yaml").write_text("{China: {off: [2026-01-01]}}\n")
    told = errors_of(path)
    files = ["costguard.yaml", "a.yaml", "b.yaml", "book.yaml", "days.yaml"]
    assert list(dict.fromkeys(Path(line.split(":")[0]).name for line in told)) == files
    fixed = write(tmp_path, path.read_text().replace("share: 5", "share: 5%"))
    told = errors_of(fixed)
    assert sorted({Path(line.split(":")[0]).name for line in told}) == ["a.yaml", "b.yaml", "book.yaml", "days.yaml"]


def test_a_whole_configuration_is_loaded(tmp_path: Path) -> None:
    policy = """\
policies:
  - name: idle-dev
    rule: idle
    match: {tags: {role: dev}}
    when: {for: 45m}
    respond: [{do: warn, to: [owner, ops, li]}, {after: 30m, do: stop}]
"""
    config = load(write(tmp_path, GOOD, {"a.yaml": policy}), {})
    assert [policy.name for policy in config.policies] == ["idle-dev"]
    assert config.database_url() == f"sqlite:///{tmp_path}/costguard.db"
    facts = config.account_facts(frozenset({"prod"}))
    assert facts["prod"].provider == "simulated"
    assert not facts["prod"].armed, "prod is not in enforce_accounts"
    assert facts["cloud"].currency == "USD"
    assert config.warnings == ()


def test_an_account_is_armed_only_when_listed_and_confirmed(tmp_path: Path) -> None:
    text = GOOD.replace("name: prod,", 'name: prod, account_id: "1",') + "mode: enforce\nenforce_accounts: [prod]\n"
    config = load(write(tmp_path, text, {"a.yaml": "policies: []\n"}), {})
    assert config.account_facts()["prod"].enforce
    assert not config.account_facts()["prod"].armed
    assert config.account_facts(frozenset({"prod", "cloud"}))["prod"].armed
    assert not config.account_facts(frozenset({"prod", "cloud"}))["cloud"].armed


SECRET = """\
version: 1
database: postgresql+psycopg://cg:dbPassw0rd@127.0.0.1/cg
accounts:
  - {name: a, provider: aws, credentials: {access_key_id: "${env:AK}", secret_access_key: "${file:sk}"}, proxy: "http://u:pr0xyPass@127.0.0.1:1"}
channels:
  - name: ops
    kind: dingtalk
    url: "https://oapi.dingtalk.com/robot/send?access_token=r0botToken"
    secret: "${env:DS}"
  - {name: hook, kind: slack, url: "https://hooks.slack.com/services/T0/B0/sl4ckHookPath"}
web: {tokens: [{name: ci, token: "webTok3nOfSixteen"}]}
heartbeat_url: "https://hc.example.com/ping/h3artbeat-uuid"
exchange_rates: {USD: "7.10"}
notify: {default: [ops]}
"""
PLAIN = ("dbPassw0rd", "AKIA0123", "fileSecret9", "pr0xyPass", "r0botToken", "SECding0", "sl4ckHookPath",
         "webTok3nOfSixteen", "h3artbeat-uuid")  # fmt: skip


def secret_config(folder: Path) -> Config:
    (folder / "sk").write_text("fileSecret9\n")
    return load(write(folder, SECRET, {"a.yaml": "policies: []\n"}), {"AK": "AKIA0123", "DS": "SECding0"})


def test_secrets_are_in_no_repr_and_known_to_the_redactor(tmp_path: Path) -> None:
    """K04: masked in repr and str, collected for the redactor, and not part of a JSON dump."""
    config = secret_config(tmp_path)
    shown = f"{config!r} {config} {config.settings.model_dump_json()} {[a.spec for a in config.accounts.values()]!r}"
    assert [secret for secret in PLAIN if secret in shown] == []
    missing = [secret for secret in PLAIN if not any(secret in known for known in config.secrets)]
    assert missing == []
    assert list(config.secrets) == sorted(config.secrets, key=lambda s: (-len(s), s)), "the longest first"
    assert "fileSecret9" in config.secrets, "one trailing newline is stripped"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("version: 1", "version: 2"),
        ("kind: dingtalk", "kind: dingding"),
        ("url: \"https://oapi.dingtalk.com", "url: \"oapi.dingtalk.com"),
        ("postgresql+psycopg://", "postgres://"),
        ("secret_access_key:", "secret_key:"),
        ("token: \"webTok3nOfSixteen\"", "token: [webTok3nOfSixteen]"),
        ("heartbeat_url: \"https://", "heartbeat_url: \"ftp://"),
        ("kind: slack, url:", "kind: slack, token:"),
        ("proxy: \"http://", "proxy: \""),
        ("timezone", "timezone"),
    ],
)  # fmt: skip
def test_secrets_are_in_no_error(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "sk").write_text("fileSecret9\n")
    text = SECRET.replace(old, new) if old != new else SECRET + 'timezone: "${env:AK}"\nlanguage: "${file:sk}"\n'
    told = errors_of(write(tmp_path, text), {"AK": "AKIA0123", "DS": "SECding0"})
    assert told
    assert [secret for secret in PLAIN if secret in "\n".join(told)] == []


def test_loading_again_reads_secrets_anew(tmp_path: Path) -> None:
    assert "fileSecret9" in secret_config(tmp_path).secrets
    (tmp_path / "sk").write_text("rotated-secret\n")
    again = load(tmp_path / "costguard.yaml", {"AK": "AKIA0123", "DS": "SECding0"})
    assert "rotated-secret" in again.secrets
    assert "fileSecret9" not in again.secrets


def test_enforce_without_a_channel_is_an_error(tmp_path: Path) -> None:
    text = "version: 1\nmode: enforce\naccounts: [{name: a, provider: simulated}]\n"
    policy = "policies: [{name: p, rule: idle, match: all, respond: [{do: warn, to: owner}, {after: 30m, do: stop}]}]\n"
    told = errors_of(write(tmp_path, text, {"a.yaml": policy}))
    assert len(told) == 1
    assert "enforce without any channel" in told[0]
    with_channel = text + 'channels: [{name: ops, kind: slack, url: "http://127.0.0.1:9/h"}]\n'
    told = errors_of(write(tmp_path, with_channel))
    assert "reaches nobody when the owner is not known" in told[0]
    config = load(write(tmp_path, with_channel + "notify: {default: ops}\n"), {})
    assert ["enforce_accounts is empty" in str(w) for w in config.warnings] == [True]


def test_what_only_some_accounts_can_do_is_a_warning_that_names_the_others(tmp_path: Path) -> None:
    text = GOOD.replace("name: cloud,", "name: cloud, allow_release: true,").replace(
        "name: prod,", "name: prod, allow_release: true,"
    )
    policy = """\
policies:
  - name: p
    rule: lifetime
    match: all
    when: {max_age: 30d}
    respond: [{do: warn}, {after: 24h, do: set_release_time, in: 24h}]
"""
    config = load(write(tmp_path, text, {"a.yaml": policy}), {})
    (warning,) = config.warnings
    assert "needs set_release_time; aws says impossible" in str(warning)
    assert str(warning).endswith("it will not work in cloud")


def test_settings_without_policies_are_fine_and_told(tmp_path: Path) -> None:
    path = tmp_path / "costguard.yaml"
    path.write_text("version: 1\n")
    config = load(path, {})
    assert config.policies == ()
    assert "holds no policy file" in str(config.warnings[0])


def test_a_price_book_beside_the_file_is_read_when_there_is_one(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, {"a.yaml": "policies: []\n"})
    assert load(path, {}).prices == ()
    (tmp_path / "prices.yaml").write_text('[{provider: aws, region: r, sku: s, price: "8 USD/h"}]\n')
    assert len(load(path, {}).prices) == 1


def test_a_guessed_exchange_rate_is_told(tmp_path: Path) -> None:
    text = GOOD.replace('exchange_rates: {USD: "7.10"}\n', "")
    told = [str(warning) for warning in load(write(tmp_path, text, {"a.yaml": "policies: []\n"}), {}).warnings]
    assert ["1 USD counts as 7.10 CNY: set exchange_rates" in line for line in told] == [True]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    policy = "policies: [{name: p, rule: idle, respond: [{do: notify}]}]\n"
    text = GOOD + "policies: [policies, policies/a.yaml]\n"
    assert len(load(write(tmp_path, text, {"a.yaml": policy}), {}).policies) == 1


def test_reading_a_configuration_imports_no_sdk_no_database_and_no_http(tmp_path: Path) -> None:
    """What `check` needs to stay fast; the numbers themselves are printed by the benchmark."""
    path = write(tmp_path, GOOD, {"a.yaml": "policies: [{name: p, rule: idle, respond: [{do: notify}]}]\n"})
    code = (
        "import sys; from pathlib import Path; from costguard.config.load import load; "
        f"load(Path({str(path)!r}), {{}}); print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"boto3", "botocore", "aliyunsdkcore", "tencentcloud", "sqlalchemy", "httpx", "starlette", "apscheduler"}
    assert heavy & set(done.stdout.split()) == set()


BASE = """\
version: 1
timezone: Asia/Shanghai
exchange_rates: {USD: "7.10"}
enforce_accounts: [prod]
never_stop: {names: ["prod-*"], tags: {env: [prod]}}
limits: {per_hour: 5, share: 25%}
accounts:
  - name: prod
    provider: simulated
    account_id: "1"
    regions: [cn-beijing]
    credentials: {access_key_secret: verySecret}
channels:
  - {name: ops, kind: dingtalk, url: "https://h/robot/send?access_token=t0kenOfTheRobot", fallback: team}
  - {name: team, kind: slack, url: "https://hooks.slack.com/verySecret"}
owners: [{name: li, tags: {owner: [li]}, channels: [ops]}]
notify: {default: [ops], quiet_hours: {from: "23:00", to: "08:00"}, dry_run: {to: ops, digest: "18:00"}}
reminders: [{at: "18:30", days: [sat, sun], to: owner}]
reports: [{name: monthly, to: [ops]}]
web: {listen: 127.0.0.1:8787, tokens: [{name: ci, token: "0123456789abcdefverySecret", scopes: [read]}]}
policies: [policies/]
"""
POLICY = """\
policies:
  - name: p
    rule: idle
    match: {accounts: [prod], owners: [li], kinds: [vm], gpus: {min: 1}, tags: {role: [dev]}, not: {accounts: [prod]}}
    when: {gpu_util_below: 5%, for: 45m, cards: 50%}
    respond: [{do: warn, to: [owner, ops]}, {after: 30m, do: stop, hook: {on: instance, run: x, timeout: 1m}}]
    limits: {per_hour: 3, share: 20%, only_during: [{days: workdays, from: "20:00", to: "07:00"}]}
"""
JUNK = st.sampled_from(
    [None, True, 0, -1, 1.5, "", "x", "\x00", "${", [], [None], ["x"], [["x"]], {}, {"x": None}, {"name": []}]
)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths(inner, (*at, key))


def _with(value: Any, at: tuple[Any, ...], junk: Any) -> Any:
    if not at:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = _with(value[at[0]], at[1:], junk)
    return copy


SHAPES = {name: yaml.parse(text, {}, [], file=name, folder=Path())[0].data for name, text in
          {"costguard.yaml": BASE, "policies/p.yaml": POLICY}.items()}  # fmt: skip


def test_the_base_of_the_next_test_is_right(tmp_path: Path) -> None:
    config = load(write(tmp_path, BASE, {"p.yaml": POLICY}), {})
    assert [policy.name for policy in config.policies] == ["p"]


@given(
    st.sampled_from([(name, at) for name, shape in SHAPES.items() for at in _paths(shape)]),
    st.sampled_from([(name, at) for name, shape in SHAPES.items() for at in _paths(shape)]),
    JUNK,
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_wrong_is_told_as_errors(
    tmp_path: Path, one: tuple[str, tuple[Any, ...]], two: tuple[str, tuple[Any, ...]], junk: Any
) -> None:
    """Two places of right files are replaced by junk: either it loads, or every error has a place and no secret."""
    shapes = dict(SHAPES)
    for name, at in sorted((one, two), key=lambda found: -len(found[1])):
        shapes[name] = _with(shapes[name], at, junk)
    (tmp_path / "policies").mkdir(exist_ok=True)
    for name, shape in shapes.items():
        (tmp_path / name).write_text(json.dumps(shape, ensure_ascii=False), "utf-8")
    found: tuple[ConfigError, ...] = ()
    try:
        load(tmp_path / "costguard.yaml", {})
    except ConfigErrors as failure:
        found = failure.errors
    assert all(error.file and error.line >= 1 and error.column >= 1 for error in found)
    assert not any(secret in str(error) for error in found for secret in SECRETS)
