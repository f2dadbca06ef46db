import pytest

from costguard.web.chat import dingtalk_html, slack_html


def test_slack_blocks_become_what_a_person_sees() -> None:
    html = slack_html(
        {
            "text": "Stopping in 30 min",
            "blocks": [
                {"type": "header", "text": {"type": "plain_text", "text": "Stopping in 30 min: a<b"}},
                {
                    "type": "section",
                    "text": {"type": "mrkdwn", "text": "*Why* GPU idle\n<@U012> run `costguard keep x`"},
                },
                {"type": "context", "elements": [{"type": "mrkdwn", "text": "<https://x.example/a?b=1|open>"}]},
            ],
        }
    )
    assert "<h3>Stopping in 30 min: a&lt;b</h3>" in html
    assert '<b>Why</b> GPU idle<br><span class="mention">@U012</span> run <code>costguard keep x</code>' in html
    assert '<a href="https://x.example/a?b=1" rel="noreferrer">open</a>' in html


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "javascript:alert(1)"]
)
def test_no_markup_of_a_name_survives(hostile: str) -> None:
    slack = slack_html({"text": hostile})
    ding = dingtalk_html(
        {"msgtype": "markdown", "markdown": {"title": "t", "text": f"**{hostile}** [a](javascript:alert(1))"}}
    )
    for html in (slack, ding):
        assert "<script" not in html
        assert "<img" not in html
        assert 'href="javascript' not in html


def test_an_escaped_mention_stays_text() -> None:
    html = slack_html({"text": "box &lt;!channel&gt; &amp; co, <!here>"})
    assert "box &lt;!channel&gt; &amp; co" in html
    assert html.count("mention") == 1


def test_dingtalk_markdown_and_mentions() -> None:
    html = dingtalk_html(
        {"msgtype": "markdown", "markdown": {"title": "t", "text": "### 关机预警\n\n- @13800000000\n- **¥34.74**"}}
    )
    assert "<h3>关机预警</h3>" in html
    assert '<span class="mention">@13800000000</span>' in html
    assert "<strong>¥34.74</strong>" in html
    assert dingtalk_html({"msgtype": "text", "text": {"content": "a\n<b>"}}) == "a<br>&lt;b&gt;"
