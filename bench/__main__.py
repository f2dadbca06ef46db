"""`make bench`: runs every benchmark beside this file, or those named, each in a process of its own.

Quick by default, about two minutes in all; ``--full`` is as long and as large as the promises say.
"""

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Prints each benchmark's table under its first docstring line; exits 1 when one failed."""
    here = Path(__file__).parent
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    wanted = [word for word in sys.argv[1:] if word not in options]
    wanted = wanted or sorted(path.stem for path in here.glob("[a-z]*.py"))
    failed = []
    for name in wanted:
        title = (here / f"{name}.py").read_text("utf-8").strip().splitlines()[0].strip('"')
        print(f"== {name}: {title}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.{name}", *options], cwd=here.parent, check=False).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
