"""``costguard init``: a commented configuration and the starter policies, in one language, never over an existing file.

The templates carry their comments in both languages, a line of each; writing keeps one of them. A comment line with a
CJK character is Chinese, any other is English; ``#~`` is a line that is commented out in both.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from costguard import assets
from costguard.config.texts import Language
from costguard.errors import UsageError
from costguard.plugins import registry
from costguard.plugins.manifest import Manifest

_TEMPLATE = Path(__file__).parent / "templates" / "costguard.yaml"
_CJK = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_COMMENT = re.compile(r"\s*#")
# What people call these keys in their shells; a provider that is not here gets PROVIDER_KEY.
_VARIABLES = {
    "aliyun": {"access_key_id": "ALIYUN_AK", "access_key_secret": "ALIYUN_SK"},
    "tencent": {"secret_id": "TENCENT_SECRET_ID", "secret_key": "TENCENT_SECRET_KEY"},
    "aws": {},
    "simulated": {},
}
_DEFAULT_CHAIN = {
    "aws": (
        "# Credentials come from the usual AWS chain: environment, profile, machine role.",
        "# 凭证取自 AWS 默认链：环境变量、profile、实例角色。",
    ),
    "simulated": (
        "# A simulated fleet: no keys, no network, nothing real.",
        "# 模拟机群：无需密钥与网络，没有真实资源。",
    ),
}
_CHANNELS = {
    "zh": """\
#~ channels:
#~   - {name: ops, kind: dingtalk, url: "${env:DINGTALK_URL}", secret: "${env:DINGTALK_SECRET}"}
#~ notify: {default: [ops]}""",
    "en": """\
#~ channels:
#~   - {name: ops, kind: slack, url: "${env:SLACK_WEBHOOK_URL}"}
#~ notify: {default: [ops]}""",
}


def init(directory: Path, providers: Sequence[str], language: Language) -> tuple[Path, ...]:
    """Writes costguard.yaml and policies/ into ``directory`` and returns the files written.

    Raises UsageError when a file would be overwritten (nothing is written then) or a provider has no adapter.
    """
    known = registry.available()
    unknown = [name for name in providers if name not in known]
    if unknown:
        raise UsageError(f"no adapter for {', '.join(unknown)} in this version", sorted(known))
    chosen = [known[name] for name in dict.fromkeys(providers)] or [known["simulated"]]
    texts = {directory / "costguard.yaml": configuration(chosen, language)}
    for source in sorted(assets.policies().glob("*.yaml")):
        texts[directory / "policies" / source.name] = one_language(source.read_text("utf-8"), language)
    existing = [str(path) for path in texts if path.exists()]
    if existing:
        raise UsageError(f"already there, nothing was written: {', '.join(existing)}")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}; choose another folder") from None
    return tuple(texts)


def variables(providers: Sequence[str]) -> tuple[str, ...]:
    """The environment variables that the written configuration reads."""
    known = registry.available()
    found = (_credentials(known[name]) for name in providers if name in known)
    return tuple(variable for names in found for variable in names.values())


def configuration(manifests: Sequence[Manifest], language: Language) -> str:
    """The text of costguard.yaml for these providers."""
    chinese = language == "zh"
    foreign = sorted({manifest.currency for manifest in manifests} - {"CNY" if chinese else manifests[0].currency})
    values = {
        "timezone": "Asia/Shanghai" if chinese else str(manifests[0].billing_timezone),
        "language": language,
        "currency": "CNY" if chinese else manifests[0].currency,
        "rates": _rates(foreign),
        "accounts": "\n".join(_account(manifest) for manifest in manifests),
        "channels": _CHANNELS[language],
        "mention": ', dingtalk_mobile: "13800000000"' if chinese else ", slack: U012AB3CD",
    }
    text = _TEMPLATE.read_text("utf-8")
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return one_language(text, language)


def one_language(text: str, language: Language) -> str:
    """The text with only the comments of one language, and ``#~`` lines commented out plainly."""
    kept: list[str] = []
    for line in text.splitlines():
        if not _COMMENT.match(line):
            kept.append(line)
        elif line.lstrip().startswith("#~"):
            kept.append(line.replace("#~", "#", 1))
        elif line.strip() == "#" or bool(_CJK.search(line)) == (language == "zh"):
            kept.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).rstrip("\n") + "\n"


def _credentials(manifest: Manifest) -> dict[str, str]:
    """Credential key → environment variable; empty where the provider's own default chain is the better start."""
    if manifest.id in _VARIABLES:
        return _VARIABLES[manifest.id]
    keys = (*manifest.credentials.plain, *manifest.credentials.secret)
    return {key: f"{manifest.id}_{key}".upper() for key in keys}


def _account(manifest: Manifest) -> str:
    lines = [f"  - name: {manifest.id}", f"    provider: {manifest.id}"]
    lines += [f"    {line}" for line in _DEFAULT_CHAIN.get(manifest.id, ())]
    if named := _credentials(manifest):
        lines.append("    credentials:")
        lines += [f'      {key}: "${{env:{variable}}}"' for key, variable in named.items()]
    if manifest.id == "simulated":
        lines.append("    options: {scenario: startup, cloud: alibaba}")
    else:
        lines.append('    #~ account_id: "123456789"')
        lines.append("    #~ regions: [one, two]")
    return "\n".join(lines)


def _rates(foreign: Sequence[str]) -> str:
    if not foreign:
        return ""
    example = {"USD": "7.10", "CNY": "0.14"}
    lines = [f'#~ exchange_rates: {{{currency}: "{example.get(currency, "1.00")}"}}' for currency in foreign]
    return "\n".join(
        [
            "# What one unit of another currency is worth; without it amounts are shown side by side, never added.",
            "# 其他货币折算为本币的汇率；不填则分列显示，绝不相加。",
            *lines,
        ]
    )
