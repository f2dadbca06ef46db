"""`costguard init`: the files it writes are right at once, and nothing is overwritten."""

import re
from pathlib import Path

import pytest

from costguard.config.init import init, one_language, variables
from costguard.config.load import load
from costguard.errors import UsageError
from costguard.plugins import registry

CJK = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("provider", sorted(registry.available()))
def test_what_is_written_passes_check_once_the_variables_are_set(provider: str, language: str, tmp_path: Path) -> None:
    written = init(tmp_path, [provider], "zh" if language == "zh" else "en")
    assert tmp_path / "costguard.yaml" in written
    config = load(tmp_path / "costguard.yaml", dict.fromkeys(variables([provider]), "value"))
    assert {account.manifest.id for account in config.accounts.values()} == {provider}
    assert config.settings.mode == "dry_run"
    assert {"idle-dev", "idle-training", "idle-serving", "ttl-tag", "untagged", "still-billed"} <= {
        p.name for p in config.policies
    }


@pytest.mark.parametrize("language", ["zh", "en"])
def test_with_everything_uncommented_it_still_passes(language: str, tmp_path: Path) -> None:
    """What is commented out as an example is right, too."""
    init(tmp_path, ["simulated", "aws"], "zh" if language == "zh" else "en")
    path = tmp_path / "costguard.yaml"
    example = re.compile(r"(?m)^( *)# (?=(?:channels|notify|metrics|owners|exchange_rates|account_id|regions):|  - \{)")
    text = example.sub(r"\1", path.read_text("utf-8"))
    assert "\nchannels:" in text
    assert "\nowners:" in text
    path.write_text(text, "utf-8")
    env = {
        "DINGTALK_URL": "https://oapi.dingtalk.com/robot/send?access_token=x", "DINGTALK_SECRET": "SECx",
        "SLACK_WEBHOOK_URL": "https://hooks.slack.com/services/T/B/x",
    }  # fmt: skip
    config = load(path, env)
    assert config.settings.notify.default == ("ops",)
    assert config.settings.owners
    assert config.settings.metrics


def test_comments_are_in_one_language(tmp_path: Path) -> None:
    init(tmp_path / "en", ["simulated"], "en")
    init(tmp_path / "zh", ["simulated"], "zh")
    for path in (tmp_path / "en").rglob("*.yaml"):
        assert CJK.search(path.read_text("utf-8")) is None, path
    for path in (tmp_path / "zh").rglob("*.yaml"):
        comments = [line for line in path.read_text("utf-8").splitlines() if line.lstrip().startswith("# ")]
        prose = [line for line in comments if not re.match(r" *# ( *- \{|[a-z_]+:)", line)]
        assert prose, path
        assert [line for line in prose if not CJK.search(line)] == [], path


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "idle.yaml").write_text("mine")
    with pytest.raises(UsageError, match="already there, nothing was written"):
        init(tmp_path, ["simulated"], "en")
    assert not (tmp_path / "costguard.yaml").exists()
    assert (tmp_path / "policies" / "idle.yaml").read_text() == "mine"


def test_a_provider_without_an_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        init(tmp_path, ["azure"], "en")
    assert "simulated" in caught.value.candidates
    assert list(tmp_path.iterdir()) == []


def test_one_language_keeps_values_and_blank_comment_lines() -> None:
    text = "# english\n# 中文\n#\nname: 中文\n#~ a: 1\n"
    assert one_language(text, "en") == "# english\n#\nname: 中文\n# a: 1\n"
    assert one_language(text, "zh") == "# 中文\n#\nname: 中文\n# a: 1\n"
