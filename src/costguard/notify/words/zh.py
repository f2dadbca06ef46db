"""中文。Written by hand in the words of the contract; the provider's own words where a provider has them."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.domain.notice import NoticeKind
from costguard.domain.press import Confirm
from costguard.engine.names import SOURCES, STATES
from costguard.notify.doc import Doc
from costguard.notify.story import Span, bold, clean, code, joined, text
from costguard.notify.words import report_zh, unseen_zh
from costguard.notify.words import terms_zh as t
from costguard.notify.words.base import Words
from costguard.notify.words.evidence_zh import sentence
from costguard.notify.words.sentences import translated
from costguard.notify.words.times import is_beijing, minutes_of, offset


class Zh(Words):
    language = "zh"
    separator = "："
    comma = "，"
    list_comma = "、"
    more = "…… 另有 {n} 台"
    labels = t.LABELS
    buttons = t.BUTTONS

    def duration(self, span: timedelta) -> str:
        minutes = minutes_of(span)
        days, rest = divmod(minutes, 1440)
        hours, minutes = divmod(rest, 60)
        if days:
            return f"{days} 天" + (f" {hours} 小时" if hours else "")
        if hours:
            return f"{hours} 小时" + (f" {minutes} 分钟" if minutes else "")
        return f"{minutes} 分钟"

    def when(self, at: datetime, now: datetime, zone: ZoneInfo) -> str:
        local, today = at.astimezone(zone), now.astimezone(zone)
        days = (local.date() - today.date()).days
        day = {0: "", 1: "明天 ", -1: "昨天 "}.get(days, f"{local.month}月{local.day}日 ")
        if local.year != today.year and abs(days) > 1:
            day = f"{local.year}年{day}"
        clock = f"{local:%H:%M}"
        if is_beijing(zone):
            return f"北京时间{'' if day[:1] in '明昨' and day else ' '}{day}{clock}"
        return f"{day}{clock} {offset(local)}"

    def dry_run(self, title: str) -> str:
        return f"【演练】{title}"

    def repeat(self, title: str) -> str:
        return f"{title}（重发）"

    def warn_title(self, doc: Doc, left: timedelta | None) -> str:
        verb, name = self.verb(doc), clean(doc.name)
        start = f"即将{verb}"
        if left is not None and minutes_of(left) > 0:
            start = f"{self.duration(left)}后{verb}"
        return self._with_price(f"{start} {name}", doc.money("price"))

    def notify_title(self, doc: Doc) -> str:
        rule = doc.text("rule")
        return self._with_price(f"{t.RULES.get(rule, rule)} {clean(doc.name)}", doc.money("waste"))

    def held_title(self, doc: Doc, why: str) -> str:
        asked = doc.part("held").flag("asked")
        return f"{'现在没有' if asked else '不会'}{self.verb(doc)} {clean(doc.name)}：{why}"

    def held(self, held: Doc) -> str:
        code, who = held.text("code"), self.list_comma.join(map(clean, held.texts("by"))) or "有人"
        if code == "cooldown":
            return f"{who} 24 小时内 {held.number('restarts')} 次重新启动"
        if tag := held.text("tag"):
            return f"标签 {clean(tag)} 无法识别，因此保留"
        return t.CODES.get(code, code)

    def approval_title(self, doc: Doc) -> str:
        return self._with_price(f"等待批准：{self.verb(doc)} {clean(doc.name)}", doc.money("price"))

    def result_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        done = f"已{self.verb(doc)} {clean(doc.name)}"
        if saved := doc.money("morning_saved"):
            return f"{done} · 约省 {self.money(saved)}"
        return done if doc.flag("confirmed") else f"{done} · 尚未确认停止计费"

    def unseen_title(self, doc: Doc) -> str:
        return unseen_zh.title(self, doc)

    def failed_title(self, doc: Doc) -> str:
        price = doc.money("price")
        still = f"仍在计费 {self.per_hour(price)}" if price else "仍在计费"
        return f"【{self.verb(doc)}失败】{clean(doc.name)} {still}"

    def kept_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        until, reason = doc.at("until"), clean(doc.text("reason"))
        end = "到空闲为止" if doc.flag("until_idle") or not until else f"到{self.when(until, now, zone)}"
        return f"{clean(doc.text('by'))} 保留 {clean(doc.name)} {end}" + (f"：{reason}" if reason else "")

    def cleared_title(self, doc: Doc) -> str:
        why = t.CLEARED.get(doc.text("why"), t.CLEARED["changed"])
        if by := clean(doc.text("by")):
            why = f"{by} {why}"
        if doc.text("do") == "notify":
            over = f"已恢复：{t.RULES.get(doc.text('rule'), doc.text('rule'))}：{clean(doc.name)}"
            return over if doc.text("why") == "busy" else f"{over}（{why}）"
        return f"不{self.verb(doc)}了：{clean(doc.name)} {why}"

    def no_data_title(self, doc: Doc, now: datetime) -> str:
        since = doc.at("since")
        gap = f"采样中断 {self.duration(now - since)}" if since else "从未收到用量数据"
        return f"{gap}，不会关机：{clean(doc.name)}"

    def source_title(self, doc: Doc) -> str:
        # "-" is the region of what has none.
        where = " ".join(p for p in (clean(doc.text("account")), clean(doc.text("region"))) if p not in ("", "-"))
        what = SOURCES.get(doc.text("source"), doc.text("source"))
        if doc.flag("recovered"):
            return f"已恢复：{where} 的{what}"
        return f"读不到 {where} 的{what}：{STATES.get(doc.text('state'), doc.text('state'))}"

    def channel_title(self, doc: Doc) -> str:
        name = clean(doc.text("channel"))
        if doc.flag("recovered"):
            return f"通知渠道 {name} 已恢复"
        return f"通知渠道 {name} 发不出消息：{t.REASONS.get(doc.text('reason'), doc.text('reason'))}"

    def budget_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        spent, amount, gone = doc.money("spent"), doc.money("amount"), doc.at("gone_at")
        period = t.PERIODS.get(doc.text("period"), doc.text("period"))
        if spent is None or amount is None:
            return f"预算 {clean(doc.text('name'))}"
        title = f"{period}已用 {self.money(spent)} / {self.money(amount)}（{_share(spent, amount)}）"
        if doc.flag("recovered"):
            return f"预算 {clean(doc.text('name'))} 恢复正常：{title}"
        if gone:
            local = gone.astimezone(zone)
            title += f"，按现速 {local.month}月{local.day}日用完"
        return f"{title} · {clean(doc.text('name'))}"

    def dry_run_digest_title(self, doc: Doc) -> str:
        count, saved = len(doc.parts("items")), doc.moneys("per_night")
        return f"本应处理 {count} 台" + (f"，约省 {self.several(saved)}/晚" if saved else "")

    def group_title(self, of: str, common: Doc, count: int, per_hour: tuple[Money, ...], first: str) -> str:
        money = f"，合计 {self.several(per_hour)}/h" if per_hour else ""
        verb = self.verb(common) if common.text("do") else "处理"
        match of:
            case NoticeKind.WARN:
                return f"{count} 台将{verb}{money}" + (f"，最早{first}" if first else "")
            case NoticeKind.FAILED:
                return f"【{verb}失败】{count} 台仍在计费{money}"
            case NoticeKind.RESULT:
                return f"已{verb} {count} 台{money}"
            case NoticeKind.NO_DATA:
                return f"{count} 台没有用量数据，不会关机"
            case NoticeKind.CLEARED:
                return f"{count} 台不{verb}了"
            case NoticeKind.KEPT:
                return f"{count} 台已保留"
            case _ if rule := common.text("rule"):
                return f"{count} 台{t.RULES.get(rule, rule)}{money}"
            case _:
                return f"{count} 条提醒{money}"

    def reminder_title(self, doc: Doc) -> str:
        tonight = doc.moneys("tonight")
        cost = f"，今晚约 {self.several(tonight)}" if tonight else ""
        return f"你还有 {len(doc.parts('boxes'))} 台在运行{cost}"

    def report_title(self, doc: Doc, zone: ZoneInfo) -> str:
        return report_zh.title(self, doc, zone)

    def test_title(self, doc: Doc) -> str:
        return f"costguard 测试消息 · 渠道 {clean(doc.text('channel'))}"

    def dry_run_line(self) -> str:
        return "这是演练，什么都不会被执行。"

    def deadline(self, doc: Doc, due: datetime | None, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]:
        if due is None:
            return text("时间待定，先处理这条")
        return text(bold(self.when(due, now, zone)), f"（{self.duration(due - now)}后）{self.verb(doc)}")

    def hardware(self, resource: Doc) -> str:
        model, count = clean(resource.text("gpu_model")), resource.text("gpu_count")
        gpus = f"{count} 卡 {model}".strip() if count and count != "0" else ""
        sku = clean(resource.text("sku"))
        return f"{sku}（{gpus}）" if sku and gpus else sku or gpus

    def owner_found(self, found_by: str) -> str:
        for prefix, words in (
            ("tag ", "标签 "),
            ("name ", "名称 "),
            ("creator", "创建者"),
            ("account", "账号设置"),
            ("claim", "认领"),
        ):
            if found_by.startswith(prefix):
                return f"（按{words}{clean(found_by.removeprefix(prefix))}）"
        return f"（按 {clean(found_by)}）" if found_by else ""

    def no_owner(self, doc: Doc) -> tuple[Span, ...]:
        return text("未知；是你的就执行 ", code(f"costguard claim {doc.id}"))

    def evidence(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        return sentence(self, doc, now, zone)

    def policy(self, name: str) -> tuple[Span, ...]:
        return text("策略 ", code(name))

    def cost(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]:
        price = doc.money("price")
        if price is None:
            return text("单价未知")
        parts: list[tuple[Span, ...] | str] = [text(bold(f"{self.money(price)}/小时"), self._basis(doc))]
        since, morning = doc.money("since_cost"), doc.money("morning_cost")
        if since:
            start = doc.at("since")
            at = "空闲以来" if doc.text("rule") == "idle" or not start else f"{self.when(start, now, zone)} 以来"
            parts.append(f"{at}约 {self.money(since)}")
        end = doc.at("morning")
        if morning and end:
            parts.append(f"不处理的话到{self.when(end, now, zone)} 还要约 {self.money(morning)}")
        return joined(parts, self.comma)

    def happens(self, doc: Doc) -> tuple[Span, ...]:
        parts: list[tuple[Span, ...] | str] = []
        effect, provider = doc.part("effect"), doc.provider
        if doc.flag("look"):
            parts.append("先试着到机器上看一眼（在干活就不动它）")
        if hook := doc.text("hook"):
            limit = doc.span("hook_timeout")
            parts.append(
                text("再执行 " if parts else "先执行 ", code(hook), f"（最长 {self.duration(limit)}）" if limit else "")
            )
        verb = self.verb(doc)
        if doc.text("do") == "stop" and effect.text("ends") == "yes":
            verb = t.NO_CHARGE.get(provider, verb)
        parts.append(f"{'再' if parts else ''}{verb}")
        if effect.facts:
            parts.append(
                {"yes": "计算费用停止", "no": "但计算费用照收（关机不省钱）", "partly": "计算费用只停一部分"}.get(
                    effect.text("ends"), "不清楚计算费用是否停止"
                )
            )
            if billed := self.still_billed(effect, provider):
                parts.append(f"{billed}保留并继续计费")
            if lost := self.list_comma.join(t.LOST.get(key, clean(key)) for key in effect.texts("lost")):
                parts.append(text("会失去", bold(lost)))
            if effect.flag("restart_risk"):
                parts.append("再启动时可能没有库存")
            if note := clean(translated(effect.text("note"), self.language)):
                parts.append(note)
        if (wait := doc.span("release_in")) is not None:
            fails = "" if doc.text("do") == "set_release_time" else "万一没有成功，"
            parts.append(text(f"{fails}云厂商的定时会在 {self.duration(wait)}后", bold("连同云盘一起释放")))
        return joined(parts, "；")

    def still_billed(self, effect: Doc, provider: str) -> str:
        names = {
            "disks": t.DISK.get(provider, "云盘"), "public_ip": "公网 IP", "compute": "计算", "reservation": "预留容量",
            "gpu_capacity": "GPU 容量", "snapshots": "快照",
        }  # fmt: skip
        return self.list_comma.join(names.get(key, clean(key)) for key in effect.texts("still_billed"))

    def keep(self, doc: Doc) -> tuple[Span, ...]:
        parts: list[tuple[Span, ...] | str] = []
        if url := doc.part("links").text("keep"):
            parts.append(text(Span("打开处理页", "link", url)))
        limit = doc.span("keep_max")
        most = f"（最长 {self.duration(limit)}）" if limit else ""
        parts.append(text("执行 ", code(f"costguard keep {doc.id} --for 2h"), most))
        if doc.text("rule") == "idle":
            parts.append("用起来也会自动取消")
        return joined(parts, "；")

    def approve(self, doc: Doc) -> tuple[Span, ...]:
        return text(
            "管理员或负责人执行 ", code(f"costguard approve {doc.text('action_id') or doc.id}"), "；不批准就什么都不做"
        )

    def saved(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        saved, morning, price = doc.money("morning_saved"), doc.at("morning"), doc.money("price")
        if saved is None or morning is None:
            return "" if doc.flag("confirmed") else "云平台还没有确认停止计费，先不计入节省"
        basis = f"（按 {self.money(price)}/小时估算）" if price else "（估算）"
        return f"到{self.when(morning, now, zone)} 约省 {self.money(saved)}{basis}"

    def again(self, doc: Doc) -> tuple[Span, ...]:
        action = doc.text("action_id")
        return text(
            code(f"costguard undo {action}"), "；如果关错了：", code(f"costguard dispute {action} --reason 原因")
        )  # fmt: skip

    def unseen_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[str, str, str]:
        return unseen_zh.lines(self, doc, now, zone)

    def attempts(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        retry, count = doc.at("retry_at"), doc.number("attempts")
        if retry:
            return f"已试 {count} 次，{self.when(retry, now, zone)} 再试"
        return f"已试 {count} 次，不再自动重试，需要人来处理"

    def kept_line(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]:
        until = doc.at("until")
        end = self.when(until, now, zone) if until else ""
        limit = f"到空闲为止，最晚{end}" if doc.flag("until_idle") else f"到{end}"
        reason = clean(doc.text("reason"))
        return text(f"{clean(doc.text('by'))}，", bold(limit), f"，理由：{reason}" if reason else "")

    def no_data_line(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        since = doc.at("since")
        last = f"最后一个数据在{self.when(since, now, zone)}" if since else "从来没有数据，多半没装监控插件"
        return f"{last}；看不到用量的机器按使用中对待，不会关机，也不会提醒空闲"

    def source_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[tuple[str, str], ...]:
        if doc.flag("recovered"):
            return (("time", f"{self.when(now, now, zone)} 起恢复"),)
        lines = []
        last = doc.at("last_ok")
        lines.append(("time", f"上次成功 {self.when(last, now, zone)}" if last else "从未成功过"))
        if error := clean(doc.text("error")):
            lines.append(("error", error))
        if missing := clean(doc.text("missing")):
            lines.append(("check", f"缺少权限 {missing}"))
        lines.append(("happens", "恢复之前，依赖它的规则一律按未知处理，不会关机"))
        return tuple(lines)

    def channel_lines(self, doc: Doc) -> tuple[tuple[str, str], ...]:
        if doc.flag("recovered"):
            return ()
        code, colon, detail = doc.text("detail").partition(": ")
        lines = [("error", clean(f"{code}{colon}{t.TECHNICAL.get(detail, detail)}"))]
        if hint := doc.text("hint"):
            lines.append(("check", clean(t.TECHNICAL.get(hint, hint))))
        waiting = doc.number("waiting")
        lines.append(("happens", f"有 {waiting} 条消息在等；没有送达预警的机器不会关机"))
        return tuple(lines)

    def budget_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[tuple[str, str], ...]:
        lines = []
        start, end, forecast = doc.at("period_start"), doc.at("period_end"), doc.money("forecast")
        basis = t.BASES.get(doc.text("basis"), doc.text("basis"))
        if start and end:
            first, last = start.astimezone(zone), (end - timedelta(seconds=1)).astimezone(zone)
            kind = "含实时估算" if doc.flag("estimated") else "以账单为准"
            lines.append(("time", f"{first.month}月{first.day}日–{last.month}月{last.day}日，{basis}，{kind}"))
        if forecast:
            lines.append(("cost", f"按现速预测到期末约 {self.money(forecast)}"))
        drivers = [(d.text("key"), d.money("money")) for d in doc.parts("drivers")]
        if drivers:
            top = self.list_comma.join(f"{clean(key)} {self.money(money)}" for key, money in drivers[:5] if money)
            lines.append(("why", f"花得最多：{top}"))
        return tuple(lines)

    def digest_item(self, item: Doc) -> str:
        price, owner, blocked = item.money("price"), clean(item.text("owner")), item.text("code")
        parts = [f"{self.verb(item)} {clean(item.name)}"]
        if price:
            parts.append(self.per_hour(price))
        parts.append(owner or "无负责人")
        parts.append(f"策略 {clean(item.text('policy'))}")
        if blocked and blocked not in ("ok", "dry_run", "not_armed"):
            parts.append(f"但会被拦下：{t.CODES.get(blocked, blocked)}")
        return " · ".join(parts)

    def group_hint(self, of: str) -> tuple[Span, ...]:
        if of == NoticeKind.WARN:
            return text("要保留哪台：", code("costguard keep ID --for 2h"))
        if of == NoticeKind.FAILED:
            return text("看原因：", code("costguard explain ID"))
        return ()

    def reminder_box(self, box: Doc) -> str:
        idle, tonight = box.span("idle_for"), box.money("tonight")
        state = t.ACTIVITY.get(box.text("activity"), "无数据")
        if box.text("activity") == "idle" and idle:
            state = f"空闲 {self.duration(idle)}"
        return f"{clean(box.name)} {state}" + (f"，今晚约 {self.money(tonight)}" if tonight else "")

    def reminder_hint(self) -> tuple[Span, ...]:
        return text("不用的请关机；要用的：", code("costguard keep ID --for 12h"))

    def report_lines(self, doc: Doc, zone: ZoneInfo) -> tuple[tuple[str, tuple[Span, ...]], ...]:
        return report_zh.lines(self, doc, zone)

    def test_line(self) -> str:
        return "能看到这条，说明这个渠道通了。不需要做任何事。"

    def confirm_stop(self, name: str) -> Confirm:
        return Confirm(
            "现在关机？", f"{name} 不等宽限期，现在就关。关之前会再看一次，正在使用就不关。", "现在关机", "先不关"
        )

    def slash(self, name: str) -> tuple[Span, ...]:
        return text("也可以在这里写：", code(f"/costguard 保留 {name} 2小时"))

    def spoken(self, name: str) -> tuple[Span, ...]:
        return text(
            "对机器人说（群里先 @ 它）：",
            code(f"保留 {name} 2小时"),
            "、",
            code(f"认领 {name}"),
            "、",
            code(f"为什么 {name}"),
        )

    def number(self, alert: str) -> str:
        return f"编号 {alert}"

    def link(self, key: str) -> str:
        return {"page": "查看详情", "keep": "打开处理页"}.get(key, clean(key))

    def verb(self, doc: Doc) -> str:
        match doc.text("do"):
            case "release":
                return t.RELEASE.get(doc.provider, "释放")
            case "tag":
                return "打标签"
            case "set_release_time":
                return "设置定时释放"
            case "run":
                return "执行脚本"
            case "notify" | "warn":
                return "提醒"
            case _:
                return "关机"

    def _with_price(self, title: str, price: Money | None) -> str:
        return f"{title} {self.per_hour(price)}" if price else title

    def _basis(self, doc: Doc) -> str:
        resource, provider = doc.part("resource"), doc.provider
        charge = {
            "on_demand": t.ON_DEMAND.get(provider, "按量付费"), "spot": t.SPOT.get(provider, "竞价实例"),
            "prepaid": "包年包月", "reserved": "预留", "owned": "自有机器",
        }.get(resource.text("charge_type"), "")  # fmt: skip
        source = {"list": "目录价", "book": "自定价", "spot": "市场价"}.get(resource.text("price_source"), "")
        inside = self.list_comma.join(p for p in (charge, source) if p)
        return f"（{inside}）" if inside else ""


def _share(spent: Money, amount: Money) -> str:
    if spent.currency != amount.currency or amount.nanos <= 0:
        return "?"
    return f"{round(100 * spent.nanos / amount.nanos)}%"
