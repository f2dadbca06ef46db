"""Policies: test, list, schema."""

import os
from pathlib import Path
from typing import Annotated

import typer

from costguard.cli.console import Column
from costguard.cli.context import AsJson, ConfigFile, load_config, screen, spoken
from costguard.cli.words import rule, step

group = typer.Typer(no_args_is_help=True, help="Test, list and describe policies.")


def register(app: typer.Typer) -> None:
    app.add_typer(group, name="policies")


@group.command("test")
def run_tests(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Policy folders or files (default: policies/).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the YAML tests beside policies: what was expected and what was got, per subject. Exit 1 when one fails.

    Example: `costguard policies test policies`
    """
    from costguard.config.testing import run
    from costguard.errors import ConfigErrors, UsageError

    chosen = paths or [Path("policies")]
    if missing := [str(path) for path in chosen if not path.exists()]:
        raise UsageError(f"no such file or folder: {', '.join(missing)}")
    report = run(chosen, os.environ)
    if report.errors:
        raise ConfigErrors(report.errors)
    on = screen(as_json, spoken(ctx))
    if as_json:
        on.document(
            {
                "schema": "costguard.policies_test/1",
                "ok": report.ok,
                "tests": [
                    {
                        "file": r.file, "line": r.line, "name": r.name, "policy": r.policy, "ok": r.ok,
                        "subjects": [
                            {"subject": row.subject, "ok": row.ok, "expected": list(row.expected), "got": list(row.got)}
                            for row in r.rows
                        ],
                    }
                    for r in report.results
                ],
            }
        )  # fmt: skip
    for result in report.results:
        if not result.ok:
            on.say(f"{result.file}:{result.line}: {result.policy}: {result.name}", "bold red")
            for row in result.rows:
                mark = on.t("policies.fine" if row.ok else "policies.wrong")
                expected, got = on.list_comma.join(row.expected), on.list_comma.join(row.got)
                on.say(mark + on.t("policies.row", subject=row.subject, expected=expected, got=got))
    failed = sum(1 for r in report.results if not r.ok)
    on.say(on.t("policies.result", passed=len(report.results) - failed, failed=failed), "bold")
    if not report.results:
        on.warn(on.t("policies.no_tests"))
    if failed:
        raise typer.Exit(1)


@group.command("list")
def listing(ctx: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """The policies in force, with their mode and their steps."""
    from costguard.config.check import check

    loaded = load_config(ctx, config)
    report = check(loaded)
    on = screen(as_json, spoken(ctx, loaded))
    if as_json:
        rows = [{"policy": p.policy, "rule": p.rule, "mode": p.mode, "steps": list(p.steps)} for p in report.policies]
        on.document({"schema": "costguard.policies/1", "policies": rows})
        return
    on.table(
        "",
        [
            Column(on.t("policy"), style="bold"), Column(on.t("rule")), Column(on.t("policies.mode")),
            Column(on.t("policies.steps"), flexible=True),
        ],
        [
            [p.policy, rule(p.rule, on.language), on.t(f"mode.{p.mode}"),
             on.list_comma.join(step(one, on.language) for one in p.steps)]
            for p in report.policies
        ],
        on.t("policies.none"),
    )  # fmt: skip


@group.command()
def schema(
    config_file: Annotated[bool, typer.Option("--config-file", help="Of costguard.yaml instead.")] = False,
) -> None:
    """JSON Schema of policy files, for editors.

    Example: `costguard policies schema > policies.schema.json`
    """
    from costguard.config.schema import policies_schema, settings_schema

    screen(True).document(settings_schema() if config_file else policies_schema())
