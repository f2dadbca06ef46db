"""What a chat's connection needs to know of its process: who leads, who counts its beats, where its state is shown."""

from collections.abc import Sequence

from costguard.app.app import App
from costguard.daemon import metrics
from costguard.notify.listening import Circumstances, Patience
from costguard.ports import Listening

_EVERY_S = 60.0


def circumstances(app: App, channels: Sequence[str], patience: Patience | None = None) -> Circumstances:
    """For one connection that serves these channels; from now on its loop is expected to come round."""
    loop = f"chat {channels[0]}"
    app.beats.expect(loop, _EVERY_S)

    def changed(state: Listening) -> None:
        for name in channels:
            metrics.LISTENING.labels(name).set(state.connected)
            metrics.LISTENED.labels(name).set(state.opened)

    return Circumstances(lambda: app.lead.leads, changed, lambda: app.beats.beat(loop), patience or Patience())
