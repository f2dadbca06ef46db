"""The overview in a real browser: both languages, both sizes, both colour schemes, and hostile names."""

import re
from pathlib import Path

import pytest

from costguard.app.app import App
from costguard.app.serve import site_of
from costguard.daemon.listing import COMPUTE
from costguard.store import inventory, levers
from tests.web.browser import DESKTOP, PHONE, Look
from tests.web.served import served
from tests.web.stage import HOSTILE, Stage

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(400)]  # the demo is told first

Demo = tuple[App, str]
CASES = [(size, scheme, lang) for size in (DESKTOP, PHONE) for scheme in ("light", "dark") for lang in ("zh", "en")]
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")


def _ids(case: tuple[tuple[int, int], str, str]) -> str:
    return f"{'phone' if case[0] == PHONE else 'desktop'}-{case[1]}-{case[2]}"


@pytest.mark.parametrize("case", CASES, ids=_ids)
def test_every_reader_gets_a_whole_page(
    demo_site: Demo, look: Look, tmp_path: Path, case: tuple[tuple[int, int], str, str]
) -> None:
    size, scheme, lang = case
    with look(f"{demo_site[1]}/?lang={lang}", size=size, scheme=scheme) as page:
        page.wait_for_selector("#chart canvas")
        assert page.evaluate("document.documentElement.lang") == ("zh-CN" if lang == "zh" else "en")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0], "a page that scrolls sideways"
        cut = page.evaluate(
            "[...document.querySelectorAll('.tile, .pill, summary, td, .log li')].filter(e => e.offsetParent"
            " && e.scrollWidth > e.clientWidth + 1).map(e => e.className + ': ' + e.textContent.trim())"
        )
        assert cut == []
        assert page.evaluate(CONTRAST) == {}
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        if lang == "en":
            # What people and providers wrote stays as it was written: reasons, messages, names.
            ours = page.locator("header, .tiles, h2, summary, th, .pill").all_inner_texts()
            foreign = [text for text in ours if _CHINESE.search(text.replace("中文", ""))]
            assert foreign == []


def test_the_tiles_say_what_the_database_says(demo_site: Demo, look: Look) -> None:
    app, url = demo_site
    with app.database.read() as conn:
        keeps = levers.keeps(conn, app.clock.now())
        boxes = [r for r in inventory.resources(conn) if r.ref.kind in COMPUTE]
    with look(f"{url}/?lang=zh") as page:
        assert re.fullmatch(r"¥[\d,]+\.\d\d/小时", page.locator(".tile.burn .big").inner_text().replace(" ", ""))
        parts = [float(t.replace("¥", "").replace(",", "")) for t in page.locator(".parts dd").all_inner_texts()]
        total = float(re.sub(r"[^\d.]", "", page.locator(".tile.burn .big").inner_text()))
        assert sum(parts) == pytest.approx(total, abs=0.02)
        assert page.locator(".tile.kept .big").inner_text().startswith(str(len(keeps)))
        assert "dev-a10-li" in page.locator(".tile.kept p").inner_text()
        assert int(re.sub(r"\D", "", page.locator(".tile.warned .big").inner_text())) >= 1
        assert "后）" in page.locator(".tile.warned p").inner_text()
        assert page.locator(".tile.saved .big").inner_text() > "¥0.00"
        counts = {
            group: int(page.locator(f"#group-{group} .count").inner_text())
            for group in ("look", "stopped", "fine", "off")
        }
        assert sum(counts.values()) == len(boxes)
        assert page.locator("#group-stopped tbody tr").count() == counts["stopped"] >= 4
        assert "train-a100-08" in page.locator("#group-stopped").inner_text()
        budgets = page.locator("#wide code").all_inner_texts()
        assert sorted(budgets) == sorted(set(budgets)), "of a budget only the latest step"
        # The next to stop stands first.
        first = page.locator("#group-look tbody tr").first
        assert "关机" in first.inner_text()
        assert first.locator(".name").inner_text() in page.locator(".tile.warned p").inner_text()


def test_idle_stays_idle_between_two_polls_of_use(demo_site: Demo, look: Look) -> None:
    """The newest sample is as old as the last poll; that is no missing data, and the curve has no stripes."""
    with look(demo_site[1]) as page:
        unknown = page.evaluate("fetch('/parts/series').then(r => r.json()).then(d => d.unknown)")
    # From 18:40 on: boxes on their way down, some minutes earlier, are neither.
    late = unknown[40:]
    assert len(late) > 20
    assert max(late) - min(late) < 30, "boxes flicker between idle and no data"


def test_the_history_and_the_inbox_tell_the_story(demo_site: Demo, look: Look) -> None:
    with look(f"{demo_site[1]}/?lang=zh") as page:
        log = page.locator("#log").inner_text()
        for words in ("已预警", "已发出关机指令", "云厂商确认已停机", "每小时少花 ¥277.94", "评测结果还没看完"):
            assert words in log
        assert "kept by" not in log
        assert log.count("li 叫停") == 1, "one ladder was called off, once"
        for platform in ("slack", "dingtalk"):
            assert page.locator(f"#messages .msg.{platform}").count() >= 2
        bubble = page.locator("#messages .msg.dingtalk .bubble").first.inner_text()
        assert "**" not in bubble
        assert "###" not in bubble


def test_parts_refresh_and_what_the_reader_opened_stays_open(demo_site: Demo, look: Look) -> None:
    with look(f"{demo_site[1]}/?lang=en") as page:
        page.locator("#group-fine > summary").click()
        page.locator("#group-look > summary").click()
        with page.expect_response("**/parts/fleet*"):
            pass
        page.wait_for_timeout(300)
        assert page.locator("#group-fine").get_attribute("open") is not None
        assert page.locator("#group-look").get_attribute("open") is None
        page.evaluate("document.querySelector('#clock').textContent = 'old'")
        page.locator("#clock", has_text="19:08").wait_for(timeout=5000)


def test_the_language_sticks(demo_site: Demo, look: Look) -> None:
    url = demo_site[1]
    with look(url, language="en-US") as page:
        assert page.locator(".tile.burn h2").inner_text() == "Burning now"
        page.get_by_role("link", name="中文").click()
        assert page.locator(".tile.burn h2").inner_text() == "正在花"
        page.goto(url)
        assert page.locator(".tile.burn h2").inner_text() == "正在花"
        with page.expect_response("**/parts/tiles*"):
            pass
        page.wait_for_timeout(200)
        assert page.locator(".tile.burn h2").inner_text() == "正在花"


def test_a_keyboard_reaches_everything(demo_site: Demo, look: Look) -> None:
    with look(f"{demo_site[1]}/?lang=en") as page:
        reached = []
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.append(
                page.evaluate(
                    "(() => { const e = document.activeElement, s = getComputedStyle(e);"
                    " return [e.id || e.textContent.trim(), s.outlineStyle !== 'none' || e.className === 'skip']; })()"
                )
            )
        names = [name for name, _ in reached]
        assert names[0] == "Skip to content"
        assert {"English", "group-look-head", "group-fine-head", "log", "messages"} <= set(names)
        assert all(seen for _, seen in reached), reached
        page.locator("#group-fine-head").focus()
        page.keyboard.press("Enter")
        assert page.locator("#group-fine tbody tr").first.is_visible()


def test_nothing_moves_for_those_who_asked_for_calm(demo_site: Demo, look: Look) -> None:
    with look(demo_site[1], calm=True) as page:
        moving = page.evaluate("document.getAnimations().length")
        names = page.evaluate(
            "(() => { const e = document.body.appendChild(document.createElement('i')); e.className = 'htmx-added';"
            " return getComputedStyle(e).animationName; })()"
        )
    assert (moving, names) == (0, "none")


def test_a_hostile_name_is_text_wherever_it_shows(staged: Stage, look: Look) -> None:
    """Names come from whoever may create a box."""
    with staged.app() as app, served(site_of(app)) as url, look(f"{url}/?lang=en") as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a name ran: {dialog.message}"))
        shown = page.get_by_text(HOSTILE, exact=True)
        assert shown.count() >= 2
        assert page.locator("main img").count() == 0
        page.wait_for_selector("#chart canvas")


def test_an_empty_database_is_explained(tmp_path: Path, look: Look) -> None:
    from costguard.config.load import load
    from costguard.net.clock import SystemClock

    (tmp_path / "costguard.yaml").write_text(
        "version: 1\nlanguage: en\naccounts: [{name: sim, provider: simulated}]\n", "utf-8"
    )
    app = App.open(load(tmp_path / "costguard.yaml", {}), SystemClock())
    with served(site_of(app)) as url, look(f"{url}/?lang=en") as page:
        text = page.locator("main").inner_text()
        for words in (
            "after the first poll",
            "Nothing has happened yet",
            "Nothing has been stopped yet",
            "curve begins",
        ):
            assert words in text
        assert "Dry run: stops nothing" in page.locator("header").inner_text()
        assert page.locator("#messages").count() == 0
    app.close()
