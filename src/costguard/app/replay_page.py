"""A replay as one HTML file that needs nothing else: totals, a chart of the days, policies, and every stop."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any
from zoneinfo import ZoneInfo

from costguard.app.reports import rule
from costguard.domain.codec import decode
from costguard.domain.money import Money

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Replay", "days": "What would have been saved each day", "policies": "Policies", "stops": "Stops",
        "policy": "policy", "rule": "rule", "matched": "boxes", "warned": "warned", "stopped": "stopped",
        "hour": "at work within 1 h", "day": "at work within 24 h", "saved": "saved", "all": "all", "box": "box",
        "own": "configuration",
        "warned_at": "warned at", "at": "stopped at", "until": "saves until", "why": "because", "work": "used again",
        "ended": "ended by itself", "open": "history ends", "none": "Nothing would have been stopped.",
        "unknown": "unknown", "skipped": "Not replayed", "partly": "Replayed in part",
        "assumptions": "How to read this",
        "told": "told", "notes": "What people would have been told of money", "times": "{n} times, the last {at}",
        "each": "each of them", "ahead": "forecast {step}",
        "seen": "{n} of {of} boxes have use recorded", "zone": "Times are of {zone}.",
    },
    "zh": {
        "title": "回放", "days": "每天本可省下", "policies": "策略", "stops": "关机", "policy": "策略", "rule": "规则",
        "matched": "机器数", "warned": "预警", "stopped": "关机", "hour": "1 小时内又工作", "day": "24 小时内又工作",
        "saved": "可省", "all": "合计", "box": "机器", "warned_at": "预警时间", "at": "关机时间", "until": "节省至",
        "why": "原因", "work": "再次使用", "ended": "自行结束", "open": "历史到此为止", "none": "不会有任何关机。",
        "unknown": "未知", "skipped": "未回放", "partly": "部分回放", "told": "提醒", "notes": "费用方面会收到的提醒",
        "own": "当前配置",
        "times": "{n} 次，最近一次 {at}", "each": "逐次查看", "ahead": "预测 {step}", "assumptions": "如何解读",
        "seen": "{of} 台机器中 {n} 台有用量记录",
        "zone": "时间为 {zone} 时区。",
    },
}  # fmt: skip
_STYLE = """\
:root{color-scheme:light dark;--ink:#1c2330;--dim:#667085;--line:#e4e7ec;--bg:#fff;--a:#2e7d5b;--b:#c77f1a}
@media(prefers-color-scheme:dark){:root{--ink:#e8ebf0;--dim:#98a2b3;--line:#344054;--bg:#12161d;--a:#58b98b;--b:#e0a64a}}
body{font:15px/1.5 system-ui,"PingFang SC","Microsoft YaHei",sans-serif;color:var(--ink);background:var(--bg);
max-width:1080px;margin:2rem auto;padding:0 1rem}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{padding:.35rem .6rem;text-align:left;
border-bottom:1px solid var(--line);white-space:nowrap}th{color:var(--dim);font-weight:500}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}.dim{color:var(--dim)}.warn{color:var(--b);font-weight:600}
td.long{white-space:normal;min-width:20rem}tr.sum td{font-weight:600}
svg{width:100%;min-width:640px;height:auto}details{margin:-.6rem 0 1rem}summary{color:var(--dim);cursor:pointer}
@media(max-width:600px){body{font-size:14px;margin:1rem auto}th,td{padding:.35rem .3rem}.wide{display:none}
td:first-child{white-space:normal;overflow-wrap:anywhere}}
svg text{fill:var(--dim);font-size:11px}.k{display:inline-block;width:.8em;height:.8em;
border-radius:2px;margin:0 .35em 0 1em}"""
_COLOURS = ("var(--a)", "var(--b)")
_WIDE = frozenset({"rule", "matched", "told", "warned", "day", "warned_at", "until", "why"})
_WIDTH, _HEIGHT, _FOOT = 960, 220, 24


def page(document: Mapping[str, Any], language: str, *, own: bool = False) -> str:
    """The whole page in ``zh`` or ``en``, from a ``costguard.replay/1`` document.

    ``own``: its first version is the configuration's.
    """
    tongue = "zh" if language == "zh" else "en"
    words, zone = WORDS[tongue], ZoneInfo(document["timezone"])
    coverage, versions = document["coverage"], list(document["versions"])
    if own:
        versions[0] = {**versions[0], "name": words["own"]}
    seen = words["seen"].format(n=coverage["boxes_with_use"], of=coverage["boxes"])
    parts = [
        f"<!doctype html><html lang='{tongue}'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width,initial-scale=1'>",
        f"<title>costguard · {words['title']}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(document['headline'][tongue])}</h1>",
        *(f"<p class='warn'>{escape(line)}</p>" for line in document["warnings"][tongue]),
        f"<p class='dim'>{escape(seen)} · {_at(document['since'], zone)} – {_at(document['until'], zone)} · "
        f"{escape(words['zone'].format(zone=zone.key))}</p>",
        f"<h2>{words['days']}</h2>{_chart(versions)}",
    ]
    for version in versions:
        parts.append(_version(version, words, zone, coverage["boxes"], tongue))
    parts.append(f"<h2>{words['assumptions']}</h2><ul class='dim'>")
    parts += [f"<li>{escape(line)}</li>" for line in document["assumptions"][tongue]]
    parts.append("</ul></body></html>\n")
    return "".join(parts)


def _version(version: Mapping[str, Any], words: Mapping[str, str], zone: ZoneInfo, boxes: int, tongue: str) -> str:
    head = "".join(
        f"<th{_kinds('' if key in ('policy', 'rule') else 'n', key)}>{words[key]}</th>"
        for key in ("policy", "rule", "matched", "told", "warned", "stopped", "hour", "day", "saved")
    )
    rows = [_policy({**one, "rule": rule(one["rule"], tongue)}, words, "") for one in version["policies"]]
    whole = {**version, "policy": words["all"], "rule": "", "matched": boxes}
    rows.append(_policy(whole, words, " class='sum'"))
    reason = "reason_zh" if tongue == "zh" else "reason"
    skipped = "".join(
        f"<p class='dim'>{words[what]}: {escape(one['policy'])}: {escape(one[reason])}</p>"
        for what in ("skipped", "partly")
        for one in version[what]
    )
    return (
        f"<h2>{words['policies']} · {escape(version['name'])}</h2>"
        f"<div class='scroll'><table><tr>{head}</tr>{''.join(rows)}</table></div>"
        f"{skipped}{_stops(version, words, zone)}{_notes(version, words, zone, tongue)}"
    )


def _notes(version: Mapping[str, Any], words: Mapping[str, str], zone: ZoneInfo, tongue: str) -> str:
    """What budgets, balances, anomalies and subscriptions would have said; nothing when they said nothing."""
    if not version["notes"]:
        return ""
    blocks: list[str] = []
    for policy, steps, notes in folded(version["notes"]):
        last = notes[-1]
        times = words["times"].format(n=len(notes), at=_at(last["at"], zone)) if notes[1:] else _at(last["at"], zone)
        title = f"<b>{escape(policy)}</b> {escape(_steps(steps, words) or last['subject']['name'])} · {times}"
        rows = "".join(
            f"<tr><td>{_at(n['at'], zone)} – {_at(n['until'], zone)}</td>"
            f"<td class='long'>{escape(n['text'][tongue])}</td></tr>"
            for n in notes
        )
        more = f"<details><summary>{words['each']}</summary><div class='scroll'><table>{rows}</table></div></details>"
        blocks.append(f"<p>{title}<br>{escape(last['text'][tongue])}</p>{more if notes[1:] else ''}")
    return f"<h2>{words['notes']}</h2>{''.join(blocks)}"


def _steps(steps: Sequence[str], words: Mapping[str, str]) -> str:
    """``80%, forecast 100%``: what has been reached, and what is judged by what is ahead."""
    kinds = [step.rpartition(":") for step in steps]
    return ", ".join(words["ahead"].format(step=share) if kind == "forecast" else share for kind, _, share in kinds)


def folded(
    notes: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, tuple[str, ...], Sequence[Mapping[str, Any]]]]:
    """(policy, steps, the notes) of what says the same again and again; steps that are told as one are one."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for note in notes:
        found.setdefault((note["policy"], note["threshold"]), []).append(note)
    alike: dict[tuple[str, int, str, str], tuple[list[str], list[Mapping[str, Any]]]] = {}
    for (policy, step), several in found.items():
        last = several[-1]
        steps, _ = alike.setdefault((policy, len(several), last["at"], str(last["text"])), ([], several))
        steps.append(step)
    for (policy, *_), (steps, several) in alike.items():
        yield policy, tuple(sorted(filter(None, steps), key=lambda step: (len(step), step))), several


def _policy(one: Mapping[str, Any], words: Mapping[str, str], kind: str) -> str:
    numbers = "".join(
        f"<td{_kinds('n', key)}>{one[field]}</td>"
        for key, field in (
            ("matched", "matched"), ("told", "told"), ("warned", "warned"), ("stopped", "stopped"),
            ("hour", "hit_within_hour"), ("day", "hit_within_day"),
        )
    )  # fmt: skip
    return (
        f"<tr{kind}><td>{escape(one['policy'])}</td><td{_kinds('', 'rule')}>{escape(one['rule'])}</td>{numbers}"
        f"<td class='n'>{_money(one['saved'], words)}</td></tr>"
    )


def _kinds(kind: str, key: str) -> str:
    """The classes of a cell; a phone leaves some columns out."""
    found = " ".join(filter(None, (kind, "wide" if key in _WIDE else "")))
    return f" class='{found}'" if found else ""


def _stops(version: Mapping[str, Any], words: Mapping[str, str], zone: ZoneInfo) -> str:
    if not version["stops"]:
        return f"<p>{words['none']}</p>"
    head = "".join(
        f"<th{_kinds('n' if key == 'saved' else '', key)}>{words[key]}</th>"
        for key in ("box", "policy", "warned_at", "at", "until", "why", "saved")
    )
    rows = "".join(
        f"<tr><td>{escape(s['subject']['name'] or s['subject']['id'])}</td><td>{escape(s['policy'])}</td>"
        f"<td{_kinds('', 'warned_at')}>{_at(s['warned_at'], zone)}</td><td>{_at(s['at'], zone)}</td>"
        f"<td{_kinds('', 'until')}>{_at(s['until'], zone)}</td><td{_kinds('', 'why')}>{words[s['ended_by']]}</td>"
        f"<td class='n'>{_money(s['saved'], words)}</td></tr>"
        for s in version["stops"]
    )
    return f"<h2>{words['stops']}</h2><div class='scroll'><table><tr>{head}</tr>{rows}</table></div>"


def _chart(versions: Sequence[Mapping[str, Any]]) -> str:
    """One group of bars for each day, one bar for each version."""
    days = [day["key"] for day in versions[0]["by_day"]]
    series = [[float(day["amount"]["amount"]) for day in version["by_day"]] for version in versions]
    top = max((value for values in series for value in values), default=0.0) or 1.0
    slot = _WIDTH / max(1, len(days))
    width = slot * 0.76 / len(series)
    bars: list[str] = []
    for index, day in enumerate(days):
        for number, values in enumerate(series):
            height = values[index] / top * (_HEIGHT - 20)
            money = _amount(versions[number]["by_day"][index]["amount"])
            x = index * slot + slot * 0.12 + number * width
            bars.append(
                f"<rect x='{x:.1f}' y='{_HEIGHT - height:.1f}' width='{width:.1f}' height='{height:.1f}' "
                f"fill='{_COLOURS[number % 2]}'><title>{day} · {escape(versions[number]['name'])} · "
                f"{escape(str(money))}</title></rect>"
            )
        if index % max(1, len(days) // 10) == 0:
            bars.append(
                f"<text x='{index * slot + slot / 2:.1f}' y='{_HEIGHT + 16}' text-anchor='middle'>{day[5:]}</text>"
            )
    peak = Money.of(str(round(top, 2)), versions[0]["saved"]["currency"])
    legend = "".join(
        f"<span class='k' style='background:{_COLOURS[n % 2]}'></span>"
        f"{escape(v['name'])} {escape(str(_amount(v['saved'])))}"
        for n, v in enumerate(versions)
    )
    return (
        f"<p>{legend}</p><div class='scroll'><svg viewBox='0 0 {_WIDTH} {_HEIGHT + _FOOT}' role='img'>"
        f"<line x1='0' y1='{_HEIGHT}' x2='{_WIDTH}' y2='{_HEIGHT}' stroke='var(--line)'/>"
        f"<text x='0' y='12'>{escape(str(peak))}</text>{''.join(bars)}</svg></div>"
    )


def _amount(value: Mapping[str, str]) -> Money:
    return Money.of(value["amount"], value["currency"])


def _money(value: Mapping[str, str] | None, words: Mapping[str, str]) -> str:
    return words["unknown"] if value is None else escape(str(_amount(value)))


def _at(text: str | None, zone: ZoneInfo) -> str:
    return "–" if text is None else str(decode(text).astimezone(zone).strftime("%m-%d %H:%M"))
