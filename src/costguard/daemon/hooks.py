"""Hooks: a command before the stop, on the instance, beside the daemon, or as a web call.

Each is started once and asked for its result later, so that nothing waits for it. Exit 0 saved, 75 busy,
anything else failed. Output is kept to its last 4 KiB, and is never held whole.
"""

import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO

from costguard.domain.action import Action
from costguard.domain.codec import encode, subject_json
from costguard.domain.resource import ResourceRef
from costguard.errors import HookFailed
from costguard.net.http import HttpClient, HttpError
from costguard.ports import CommandResult, Commands
from costguard.rules.policy import Hook

BUSY = 75
_OUTPUT = 4096
_BYTES = 4 * _OUTPUT  # the longest that so many characters are in UTF-8
_LAST_WORDS = 1.0
_RUNNING = CommandResult("running")


def tail(output: str) -> str:
    """The end of an output, where the reason usually stands."""
    return output[-_OUTPUT:]


@dataclass
class HookRunner:
    """Starts hooks and tells their results. ``commands`` finds the account's way to its instances; commands beside the
    daemon run in ``folder``, the configuration's.

    Hooks of kind daemon and webhook live in this process: after a restart their result is lost. They may run on all the
    same, so that they only count as failed when their time is over: no stop comes in the middle of one. The token goes
    along (COSTGUARD_RUN, Idempotency-Key), so that whoever is asked can tell a second try from the first.
    """

    commands: Callable[[ResourceRef], Commands | None]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.defpath})
    _results: dict[str, CommandResult] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, action: Action, hook: Hook, token: str) -> str:
        """Starts the hook once for ``token`` and returns its run id. Raises ProviderError or HookFailed."""
        ref = action.subject.ref
        if ref is None:
            raise HookFailed("a hook needs a resource")
        if hook.on == "instance":
            commands = self.commands(ref)
            if commands is None:
                raise HookFailed(f"{ref.provider} cannot run commands on instances")
            return commands.run_command(ref, hook.run, hook.timeout, token)
        run = f"{hook.on}:{token}"
        with self._lock:
            if run in self._results:
                return run
            self._results[run] = _RUNNING
        work = self._local if hook.on == "daemon" else self._web
        asked = (run, work, action, hook, token)
        threading.Thread(target=self._keep, args=asked, name=f"hook-{token}", daemon=True).start()
        return run

    def result(self, action: Action, hook: Hook) -> CommandResult:
        """How it went so far. Raises ProviderError when the provider cannot be asked now."""
        run = action.hook_run or ""
        ref = action.subject.ref
        if hook.on == "instance" and ref is not None and (commands := self.commands(ref)) is not None:
            return commands.command_result(ref, run)
        with self._lock:
            return self._results.get(run, CommandResult("running", None, "costguard restarted while the hook ran"))

    def _keep(
        self, run: str, work: Callable[[Action, Hook, str], CommandResult], action: Action, hook: Hook, token: str
    ) -> None:
        result = work(action, hook, token)
        with self._lock:
            self._results[run] = result

    def _local(self, action: Action, hook: Hook, token: str) -> CommandResult:
        subject = action.subject
        environment = {
            **self.environment,
            "COSTGUARD_ACTION": action.id,
            "COSTGUARD_RUN": token,
            "COSTGUARD_RESOURCE": subject.key,
            "COSTGUARD_NAME": subject.name,
            "COSTGUARD_ID": subject.id,
        }
        try:
            process = subprocess.Popen(  # noqa: S603 — the operator's own command, split without a shell
                shlex.split(hook.run),
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return CommandResult("failed", None, str(error))
        assert process.stdout is not None, "it was asked for"
        said = _Tail(process.stdout)
        try:
            code = process.wait(hook.timeout.total_seconds())
        except subprocess.TimeoutExpired:
            # With all that it started: half a checkpoint must not go on beside the stop.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return CommandResult("timed_out", None, said.text())
        return CommandResult("finished", code, said.text())

    def _web(self, action: Action, hook: Hook, token: str) -> CommandResult:
        body = {
            "action": action.id,
            "run": token,
            "response": action.response.value,
            "subject": subject_json(action.subject),
            "evidence": encode(action.evidence),
        }
        client = HttpClient(deadline=max(hook.timeout, timedelta(seconds=1)))
        headers = {"content-type": "application/json", "idempotency-key": token}
        try:
            answer = client.request("POST", hook.run, headers=headers, content=json.dumps(body).encode())
        except HttpError as error:
            return CommandResult("timed_out" if error.timed_out else "failed", None, str(error))
        text = tail(answer.body.decode(errors="replace"))
        # 409 Conflict is how a web service says what exit 75 says: it is at work.
        code = 0 if 200 <= answer.status < 300 else BUSY if answer.status == 409 else 1
        return CommandResult("finished", code, text)


class _Tail:
    """The end of what a command says, read as it comes: no flood fills the memory, and no child that outlives the
    command holds its result up.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._kept = stream, b""
        self._reader = threading.Thread(target=self._read, name="hook-output", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self._stream as stream:
            while chunk := stream.read(65536):
                self._kept = (self._kept + chunk)[-_BYTES:]

    def text(self) -> str:
        """What was said until now, once the command has ended."""
        self._reader.join(_LAST_WORDS)
        return tail(self._kept.decode(errors="replace"))
