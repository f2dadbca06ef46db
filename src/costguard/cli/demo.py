"""The demo."""

from typing import Annotated

import typer

from costguard.cli.context import screen, spoken


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    ctx: typer.Context,
    listen: Annotated[str, typer.Option("--listen", metavar="HOST:PORT", help="Where the page is.")] = "127.0.0.1:8787",
    headless: Annotated[bool, typer.Option("--headless", help="No page; as fast as it goes, to the end.")] = False,
    minutes: Annotated[
        int | None, typer.Option("--minutes", metavar="N", min=1, help="How many simulated minutes.")
    ] = None,
    speed: Annotated[
        float, typer.Option("--speed", metavar="N", min=1, max=600, help="How many times faster than life.")
    ] = 60.0,
) -> None:
    """A simulated GPU fleet under the starter policies: what burns, who is warned, what is kept, stopped and saved.

    Example: `costguard demo --headless --minutes 480`
    """
    import logging

    from costguard.app.demo.run import run
    from costguard.cli.logs import setup
    from costguard.net.redact import Redactor

    language = spoken(ctx)
    setup(Redactor(), "WARNING")
    # The demo's story has faults in it; the page shows them, the terminal stays a story.
    logging.getLogger("costguard").setLevel(logging.ERROR)
    run(
        listen=listen,
        headless=headless,
        minutes=minutes or (480 if headless else None),
        rate=speed,
        language=language,
        console=screen(False).out,
    )
