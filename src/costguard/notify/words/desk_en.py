"""The desk in English: what who presses or writes is answered."""

from datetime import timedelta

from costguard.notify.words import terms_en as t
from costguard.notify.words.desk import DeskWords
from costguard.notify.words.en import En

_ACTIVITY = {"active": "in use", "idle": "idle", "unknown": "no usage data", "off": "stopped"}
_EXAMPLES = {
    "keep": "keep train-03 2h", "unkeep": "unkeep train-03",
    "why": "why train-03", "claim": "claim test1",
}  # fmt: skip


class DeskEn(DeskWords):
    words = En()
    reason = "kept from the chat"
    false_alarm = "false alarm"
    examples = _EXAMPLES
    help = """You can write:
keep train-03 2h · keep train-03 until 09:00 · keep train-03 until idle
unkeep train-03
status · who is burning · why train-03
claim test1
pause · pause 2h · resume (admins)"""

    def stranger(self, shown: str, handle: str) -> str:
        return f"costguard does not know {shown}. Ask an admin to add {handle} to owners in costguard.yaml."

    def not_yours(self, name: str, owner: str, admins: str) -> str:
        also = f" or an admin ({admins})" if admins else ""
        return f"{name} belongs to {owner}; only they{also} may do this."

    def unowned(self, name: str, admins: str) -> str:
        also = f", or ask an admin ({admins})" if admins else ""
        return f"{name} has no owner yet. If it is yours, press “It's mine” or write “claim {name}” first{also}."

    def admins_only(self, admins: str) -> str:
        if not admins:
            return "Only an admin may do this; costguard.yaml names no admins yet."
        return f"Only an admin may do this: {admins}."

    def kept(self, who: str, name: str, until: str) -> str:
        return f"{who} keeps {name} until {until}"

    def kept_until_idle(self, who: str, name: str, until: str) -> str:
        return f"{who} lets {name} finish: warned and stopped once it is idle (kept until {until} at the latest)"

    def unkept(self, who: str, name: str) -> str:
        return f"{who} no longer keeps {name}"

    def stopping(self, who: str, name: str) -> str:
        return f"{who} asked to stop {name} now: one more look, and if nobody uses it, it is stopped"

    def claimed(self, owner: str, name: str) -> str:
        return f"{name} is {owner}'s now; before any stop there is a fresh warning"

    def disputed(self, who: str, name: str) -> str:
        return f"{who}: false alarm, recorded; {name} is only in dry run for 7 days"

    def alarmed(self, who: str, name: str, until: str) -> str:
        return f"{who}: false alarm, recorded; {name} is kept until {until}"

    def approved(self, who: str, name: str) -> str:
        return f"{who} approved: {name}; it is looked at once more before anything is done"

    def started(self, who: str, name: str) -> str:
        return f"{who} asked to start {name} again; the provider has the order"

    def paused(self, who: str, until: str) -> str:
        return f"{who} paused costguard: nothing is stopped until {until or 'somebody resumes'}"

    def resumed(self, who: str) -> str:
        return f"{who} resumed: every open warning starts over, with its full grace"

    def already_kept(self, by: str, name: str, until: str, until_idle: bool) -> str:
        return f"{name} is already kept by {by} until {'it is idle, at the latest ' if until_idle else ''}{until}"

    def under_way(self, name: str) -> str:
        return f"Too late: {name} is being stopped right now. Afterwards you can press “Start again”."

    def already_stopped(self, name: str, at: str) -> str:
        return f"{name} was stopped at {at}; to use it, press “Start again” under that message"

    def already_asked(self, by: str, name: str) -> str:
        return f"{by} has already asked to stop {name} now; it is being done"

    def already_owned(self, owner: str, name: str) -> str:
        return f"{name} is already {owner}'s"

    def already_disputed(self, by: str, name: str) -> str:
        return f"{by} has already called it a false alarm: {name}"

    def already_approved(self, by: str, name: str) -> str:
        return f"{by} has already approved: {name}"

    def already_started(self, by: str, name: str) -> str:
        return f"{by} has already asked to start {name} again"

    def runs_again(self, name: str) -> str:
        return f"{name} is already running"

    def over(self, name: str) -> str:
        return f"This message is out of date: things changed for {name}, and nothing is to be done now"

    def not_waiting(self, name: str) -> str:
        return f"{name} does not wait for an approval"

    def not_paused(self) -> str:
        return "Nothing is paused."

    def not_kept(self, name: str) -> str:
        return f"{name} is not kept."

    def busy(self, name: str) -> str:
        return f"{name} is in use, so it is not stopped. “Stop when it is idle” waits for the end."

    def no_use_known(self, name: str) -> str:
        return f"The use of {name} can't be seen, so it counts as in use and is not stopped."

    def blocked(self, name: str, code: str) -> str:
        return f"{name} is not stopped now: {self.guard(code)}."

    def guard(self, code: str) -> str:
        return t.CODES.get(code, code)

    def gone(self) -> str:
        return "costguard no longer has a record of this message."

    def not_done(self) -> str:
        return "Nothing was done: costguard cannot reach its database. Try again in a minute."

    def not_started(self, name: str, error: str) -> str:
        return f"Could not start {name} again: {error}"

    def too_long(self, longest: str) -> str:
        return f"At most {longest} at a time."

    def no_such(self, text: str, near: str) -> str:
        return f"No resource is called {text}" + (
            f"; did you mean {near}?" if near else ". “who is burning” lists some."
        )

    def several(self, text: str, refs: str) -> str:
        return f"More than one is called {text}; write the id: {refs}"

    def unknown_command(self, text: str, near: str) -> str:
        start = f"“{text}” is no command." + (f" Did you mean “{near}”?" if near else "")
        return f"{start}\n{self.help}"

    def needs_resource(self, example: str) -> str:
        return f"Say which one, like: {example}"

    def bad_time(self, text: str) -> str:
        return f"“{text}” is no time. Write 2h, 30m, 1d, until 09:00 or until idle."

    def here(self) -> str:
        return "costguard's messages come to this group from now on."

    def conversation(self, shown: str) -> str:
        return f"This group's id is {shown}: an administrator writes it to `conversation` of the channel."

    def status_title(self, running: int, idle: int, unknown: int, cost: str, paused: str | None, dry_run: bool) -> str:
        parts = [
            f"{running} running",
            f"{idle} idle" if idle else "",
            f"{unknown} without usage data" if unknown else "",
        ]
        first = ", ".join(part for part in parts if part) + (f", {cost} in all" if cost else "")
        notes = ["[DRY RUN] nothing is really stopped" if dry_run else "", _paused(paused)]
        return "\n".join([first, *(note for note in notes if note)])

    def status_box(self, name: str, verb: str, due: str) -> str:
        return f"· {name}: {verb} {due or 'after the warning is delivered'}"

    def nothing_due(self) -> str:
        return "Nothing is to be stopped."

    def burning_title(self, cost: str, wasted: str) -> str:
        return f"{cost} now" + (f", {wasted} of it idle" if wasted else ", none of it idle")

    def burning_box(self, name: str, cost: str, activity: str, owner: str) -> str:
        return f"· {name} {cost or 'price unknown'} · {activity} · {owner or 'no owner'}"

    def nothing_runs(self) -> str:
        return "Nothing is running."

    def why_title(self, name: str, activity: str, cost: str, owner: str) -> str:
        return f"{name}: {activity}" + (f", {cost}" if cost else "") + f", owner {owner or 'unknown'}"

    def why_kept(self, by: str, until: str, reason: str) -> str:
        return f"Kept by {by} until {until}" + (f" ({reason})" if reason else "")

    def why_ladder(self, policy: str, evidence: str, verb: str, due: str, held: str) -> str:
        what = f"{verb} {due}" if verb and due else verb or "only told"
        blocked = f", but held back: {held}" if held else ""
        return f"· {policy}: {evidence or 'it matches'}; {what}{blocked}"

    def why_nothing(self) -> str:
        return "No policy wants anything of it."

    def activity(self, activity: str, idle_for: timedelta | None = None) -> str:
        if activity == "idle" and idle_for:
            return f"idle {self.words.duration(idle_for)}"
        return _ACTIVITY.get(activity, _ACTIVITY["unknown"])


def _paused(until: str | None) -> str:
    if until is None:
        return ""
    return f"Paused until {until}" if until else "Paused until somebody resumes"
