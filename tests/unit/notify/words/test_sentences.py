"""Every sentence that the engine, the rules and the adapters can make has its Chinese one, and it is Chinese."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from string import Formatter

import pytest

import costguard
import costguard_aliyun
import costguard_aws
import costguard_simulated
import costguard_tencent
from costguard.domain.action import ActionState
from costguard.domain.snapshot import Keep
from costguard.domain.usage import Metric
from costguard.engine.activity import WINDOW, activity_of
from costguard.engine.close import held_back
from costguard.engine.explain import _REMEDY
from costguard.engine.guard import answers
from costguard.engine.protection import protection_of
from costguard.engine.settings import EngineSettings
from costguard.notify.words import doctor_zh
from costguard.notify.words.sentences import PAIRS, translated
from costguard.rules.reasons import METRICS, sentence
from costguard.testing.builders import HOUR, NOW, make_action, make_resource, make_snapshot, make_windows
from tests.unit.engine.stage import busy, quiet
from tests.unit.engine.test_guard import TABLE
from tests.unit.engine.test_limits import limits
from tests.unit.rules.test_reasons import CODES, PASSED

CORE = Path(costguard.__file__).parent
ENGINE = [
    *(CORE / "engine" / f"{name}.py" for name in (
        "guard", "activity", "protection", "limits", "ladder", "walk", "close", "recheck", "plan", "lifecycle",
        "events", "outlook", "explain", "fence", "clusters", "afterwards",
    )),
    CORE / "rules" / "match.py", CORE / "daemon" / "act.py", CORE / "daemon" / "hooks.py",
]  # fmt: skip
ADAPTERS = [
    Path(package.__file__).parent / f"{name}.py"
    for package, names in (
        (costguard_aliyun, ("effects", "storage", "instances")),
        (costguard_aws, ("effects", "storage", "instances")),
        (costguard_simulated, ("effects",)),
        (costguard_tencent, ("effects", "storage", "instances")),
    )
    for name in names
]
# What is said to programmers, to a log or to a database, or belongs to a document.
_SILENT = frozenset({"IllegalEvent", "ValueError", "TypeError", "LeaseLost", "info", "warning", "error", "exception"})


def _sentences(path: Path) -> set[str]:
    """Every text of words that is no docstring, no error and no line of a log; ``{}`` stands for values."""
    return {_shape(text) for text in _texts(ast.parse(path.read_text("utf-8"))) if re.search("[a-z]{2,} [a-z]", text)}


def _texts(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Assert():
            return
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _SILENT:
            return
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    yield from _texts(part.value)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _texts(child)


def _shape(text: str) -> str:
    """Without the names of its values; two with an equals sign in between are one."""
    return re.sub(r"\{[^}]*\}", "{}", text).replace("{}={}", "{}")


SHAPES = {_shape(english) for english, _ in PAIRS}


@pytest.mark.parametrize("path", [*ENGINE, *ADAPTERS], ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_every_sentence_in_the_source_has_its_chinese(path: Path) -> None:
    """To say something new, write its Chinese into the catalogue."""
    unknown = [s for s in _sentences(path) - SHAPES if translated(s, "zh") == s]
    assert unknown == []


def test_the_sources_are_read() -> None:
    found = {text for path in (*ENGINE, *ADAPTERS) for text in _sentences(path)}
    assert len(found) > 150
    assert {"limit reached: {} is {}", "as its provider says", "never_stop fences the tag {}", "exit code {}"} <= found


# Beside names: what is a key of the configuration, a word of a provider's API, or a unit.
_TERMS = frozenset({
    "costguard", "never_stop", "only_during", "per_hour", "share", "allow_release", "true", "accept_loss", "unwarned",
    "enforce_accounts", "enforce", "mode", "catch_up", "not", "GPU", "CPU", "IP", "StoppedMode", "StopChargingMode",
    "Spot", "lifecycle", "AWS", "EMR", "Batch", "Karpenter", "autoscaler", "fleet", "minvCpus", "UTC", "KB", "MB",
    "Prometheus", "MIG", "EC",
})  # fmt: skip


def english_in(text: str, *names: str) -> list[str]:
    """The words that are left in another language, beside ``names``."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    return [word for word in re.findall(r"[A-Za-z][A-Za-z_]+", text) if word not in _TERMS]


@pytest.mark.parametrize("pair", sorted({*PAIRS} - {*doctor_zh.PAIRS}), ids=lambda p: p[0][:60])
def test_both_of_a_pair_carry_the_same_values(pair: tuple[str, str]) -> None:
    english, chinese = ([name for _, name, *_ in Formatter().parse(text) if name] for text in pair)
    assert sorted(english) == sorted(chinese)
    assert english_in(re.sub(r"\{.*?\}", "", pair[1])) == []
    assert not re.search(r"[,;()?!] |[。.]$|：$", pair[1]), "Chinese has its own marks, and a sentence no full stop"


def test_no_sentence_has_two_translations() -> None:
    assert [english for english, count in Counter(english for english, _ in PAIRS).items() if count > 1] == []


NAMES = ("i-1", "idle-dev", "prod", "aliyun", "asg-1", "zhang", "li", "demo", "PROD-1", "boss")


def chinese(english: str, *names: str) -> str:
    """The Chinese of a real sentence, in which nothing English is left."""
    told = translated(english, "zh")
    assert told != english
    assert english_in(told, *NAMES, *names) == []
    return told


# The table's own words: what no adapter says.
_MADE_UP = (
    "prepaid", "full", "disableApiStop", "aws:autoscaling:groupName=a", "Env=Prod", "costguard=keep",
    "kubernetes.io/cluster/train",
)  # fmt: skip


def test_whatever_a_guard_answers_is_chinese() -> None:
    said = {verdict.reason for _, case in TABLE for _, verdict in answers(case) if verdict.reason}
    assert len(said) > 35
    for one in said - {"full"}:
        chinese(one, *_MADE_UP, "simulated", "local_disk")


def test_what_limits_answer_is_chinese() -> None:
    running = make_action(state=ActionState.EXECUTING, executed_at=NOW)
    said = set()
    for over_all, own in (
        ({"per_hour": 1}, {}), ({"share": 1.0}, {}), ({}, {"per_hour": 1}), ({}, {"share": "1%"}),
    ):  # fmt: skip
        settings = EngineSettings(**{"per_hour": None, "share": None, **over_all})
        full = limits(running, config=settings, **own).ask("idle-dev", "prod", dry=False)
        assert full is not None
        said.add(chinese(full.reason))
    assert said == {
        "达到单次上限：所有策略合计的 per_hour 是 1", "达到单次上限：prod 所有机器的 share 是 1",
        "达到单次上限：idle-dev 的 per_hour 是 1", "达到单次上限：idle-dev 在 prod 的 share 是 1",
    }  # fmt: skip


BOX = make_resource()


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (quiet(BOX), "30 分钟内所有数据来源都显示空闲"),
        (busy(BOX, cpu=9.0), "最近 30 分钟 GPU 利用率、CPU 用量显示有负载"),
        (dict(quiet(BOX)) | make_windows(BOX, {Metric.DISK: 2e7}, length=WINDOW), "最近 30 分钟磁盘流量显示有负载"),
        (quiet(BOX, gpu=[0.0] * 7), "有一张卡没有 GPU 利用率的采样"),
        (quiet(BOX, cpu=None), "收不到 CPU 用量的采样"),
        (quiet(BOX, coverage=0.5), "GPU 利用率缺的采样太多"),
        ({}, "收不到 GPU 利用率的采样"),
    ],
)
def test_activity(usage: object, told: str) -> None:
    assert chinese(activity_of(BOX, make_snapshot(BOX, usage={BOX.ref: usage})).reason) == told


def test_a_heartbeat() -> None:
    seen = activity_of(BOX, make_snapshot(BOX, heartbeats={BOX.ref: NOW + HOUR}))
    assert chinese(seen.reason) == "有任务报告自己会运行到北京时间 2026-03-05 21:00"
    elsewhere = activity_of(BOX, make_snapshot(BOX, heartbeats={BOX.ref: NOW + HOUR}, timezone="Europe/Berlin"))
    assert chinese(elsewhere.reason, "Europe/Berlin") == "有任务报告自己会运行到 2026-03-05 14:00（Europe/Berlin）"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"tags": None}, "读不到它的标签"),
        ({"tags": {"costguard": "kepe"}}, "标签 costguard=kepe 无法识别，因此保留"),
        ({"tags": {"costguard:keep-until": "2026-12-01"}}, "标签 costguard:keep-until=2026-12-01"),
        ({"protected": "isolated: ARREAR"}, "云厂商一侧有保护：已隔离：ARREAR"),
        ({"protected": "managed by an AWS service"}, "云厂商一侧有保护：由某个 AWS 服务管理"),
        ({}, "li 保留：it is gone, or is it?"),
    ],
)
def test_protection(fields: dict[str, object], told: str) -> None:
    """What a person wrote stays as it was written, whatever it looks like."""
    box = make_resource(**fields)
    kept = Keep(box.ref, NOW + HOUR, "li", "it is gone, or is it?", NOW)
    found = protection_of(box, make_snapshot(box, keeps={} if fields else {box.ref: kept}))
    assert found is not None
    assert translated(found.why, "zh") == told


@pytest.mark.parametrize("code", [*CODES, *PASSED])
def test_every_code_of_a_rule(code: str) -> None:
    chinese(sentence(code, {"window": timedelta(minutes=45)}))


@pytest.mark.parametrize("metric", METRICS)
def test_work_is_told_in_numbers(metric: str) -> None:
    evidence = {f"{metric}_max": 1.5, f"{metric}_below": 1, "window": timedelta(minutes=90)}
    told = chinese(f"it no longer holds: {sentence(f'{metric}_busy', evidence)}", "B/s")
    assert told.startswith("条件不再成立：最近 1 小时 30 分钟")
    del evidence["window"]
    chinese(sentence(f"{metric}_busy", evidence), "B/s")


@pytest.mark.parametrize(
    ("english", "told"),
    [
        ("stopped and started again 2 times in 24 h, by zhang, li", "24 小时内关机后被 zhang、li 重新启动 2 次"),
        ("stopped and started again 2 times in 24 h, by somebody", "24 小时内关机后被人重新启动 2 次"),
        ("aliyun says stop: not_written", "aliyun 不能关机：costguard 还没有支持"),
        (
            "the grace has not passed, and then it is refused: a stop does not end its bill (paid in advance)",
            "宽限期还没过，到时也会被拦下：关机后照常计费（费用已预付）",
        ),
        ("would warn: stop in 1h30m", "演练：本应预警：1 小时 30 分钟后关机"),
        ("the hook failed: exit code 3", "脚本失败：退出码 3"),
        (
            "aliyun/prod/cn-hangzhou/vm/i-1: release timer removed (the policy is another one now)",
            "aliyun/prod/cn-hangzhou/vm/i-1：定时释放已取消（策略已改）",
        ),
        (f"{next(iter(_REMEDY.values()))} (dry run)", "重新读到它的资源清单和用量（演练）"),
        # Names may look like anything; the longest sentence is meant.
        ("member of it is gone: scale the group instead", "属于 it is gone：请改为给伸缩组缩容"),
        ("never_stop fences the name 训练机", "名称训练机在 never_stop 禁停范围内"),
    ],
)
def test_sentences(english: str, told: str) -> None:
    assert translated(english, "zh") == told
    assert translated(english, "en") == english


def test_a_ladder_that_is_held_says_so() -> None:
    failed = make_action(state=ActionState.FAILED, reason="the hook failed: no answer in time")
    assert chinese(held_back(failed).reason) == "执行失败：脚本失败：超时未应答；等人处理，或等情况自行消失"


@pytest.mark.parametrize(
    "english",
    [
        "", "aliyun/prod: StopInstance IncorrectInstanceStatus: no (request 1)", "disk full", "somebody said: no",
        "no thing can be stopped at all", "GPU use and more saw work in the last 30 min",
    ],
)  # fmt: skip
def test_what_is_not_known_stays_as_it_is(english: str) -> None:
    assert translated(english, "zh") == english


@pytest.mark.parametrize("part", ["the hook failed: ", "a: b (", "a (now: ", "protected at the provider: ", "would "])
def test_what_a_hook_prints_does_no_harm(part: str) -> None:
    """It may look like a sentence in a sentence, without end."""
    for times in (10, 100, 10_000):
        assert translated(part * times, "zh")
        assert translated(f"the hook failed: {part * times}", "zh")
    assert translated(part * 10_000, "zh") == part * 10_000
