"""Hooks: a command before the stop, on the instance, beside the daemon, or as a web call.

Each is started once and asked for its result later, so that nothing waits for it. Exit 0 saved, 75 busy,
anything else failed. Output is kept to its last 4 KiB.
"""

import json
import os
import shlex
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from costguard.domain.action import Action
from costguard.domain.codec import encode, subject_json
from costguard.domain.resource import ResourceRef
from costguard.errors import HookFailed
from costguard.net.http import HttpClient, HttpError
from costguard.ports import CommandResult, Commands
from costguard.rules.policy import Hook

BUSY = 75
_OUTPUT = 4096
_RUNNING = CommandResult("running")


def tail(output: str) -> str:
    """The end of an output, where the reason usually stands."""
    return output[-_OUTPUT:]


@dataclass
class HookRunner:
    """Starts hooks and tells their results. ``commands`` finds the account's way to its instances.

    Hooks of kind daemon and webhook live in this process: after a restart their result is lost, and the
    lifecycle treats that as a failure.
    """

    commands: Callable[[ResourceRef], Commands | None]
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
        threading.Thread(target=self._keep, args=(run, work, action, hook), name=f"hook-{token}", daemon=True).start()
        return run

    def result(self, action: Action, hook: Hook) -> CommandResult:
        """How it went so far. Raises ProviderError when the provider cannot be asked now."""
        run = action.hook_run or ""
        ref = action.subject.ref
        if hook.on == "instance" and ref is not None and (commands := self.commands(ref)) is not None:
            return commands.command_result(ref, run)
        with self._lock:
            return self._results.get(run, CommandResult("failed", None, "costguard restarted while the hook ran"))

    def _keep(self, run: str, work: Callable[[Action, Hook], CommandResult], action: Action, hook: Hook) -> None:
        result = work(action, hook)
        with self._lock:
            self._results[run] = result

    def _local(self, action: Action, hook: Hook) -> CommandResult:
        subject = action.subject
        environment = {
            **self.environment,
            "COSTGUARD_ACTION": action.id,
            "COSTGUARD_RESOURCE": subject.key,
            "COSTGUARD_NAME": subject.name,
            "COSTGUARD_ID": subject.id,
        }
        try:
            done = subprocess.run(  # noqa: S603 — the operator's own command, split without a shell
                shlex.split(hook.run),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=hook.timeout.total_seconds(),
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            output = late.stdout.decode(errors="replace") if late.stdout else ""
            return CommandResult("timed_out", None, tail(output))
        except (OSError, ValueError) as error:
            return CommandResult("failed", None, str(error))
        return CommandResult("finished", done.returncode, tail(done.stdout.decode(errors="replace")))

    def _web(self, action: Action, hook: Hook) -> CommandResult:
        body = {
            "action": action.id,
            "response": action.response.value,
            "subject": subject_json(action.subject),
            "evidence": encode(action.evidence),
        }
        client = HttpClient(deadline=max(hook.timeout, timedelta(seconds=1)))
        try:
            answer = client.request(
                "POST", hook.run, headers={"content-type": "application/json"}, content=json.dumps(body).encode()
            )
        except HttpError as error:
            return CommandResult("timed_out" if error.timed_out else "failed", None, str(error))
        text = tail(answer.body.decode(errors="replace"))
        # 409 Conflict is how a web service says what exit 75 says: it is at work.
        code = 0 if 200 <= answer.status < 300 else BUSY if answer.status == 409 else 1
        return CommandResult("finished", code, text)
