"""Where a SQLite file may lie.

Write-ahead logging needs shared memory between processes and locks that are true: over NFS or SMB a database is
corrupted sooner or later, so such a place is refused before anything is written.
"""

from pathlib import Path

from costguard.errors import StoreError

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
        "fuse.sshfs", "fuse.s3fs", "fuse.ossfs", "fuse.cosfs", "fuse.glusterfs", "fuse.ceph", "fuse.juicefs",
    }
)  # fmt: skip


def refuse_network_file(path: Path) -> None:
    """Raises StoreError when ``path`` lies on a network file system (where the system tells: Linux)."""
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    kind = filesystem_of(path.resolve(), mounts)
    if kind in _NETWORK:
        raise StoreError(
            f"{path} lies on a network file system ({kind}): SQLite is not safe there; "
            "use a local disk, or Postgres for several machines"
        )


def filesystem_of(path: Path, mounts: str) -> str | None:
    """The type of the file system that holds the absolute ``path``.

    ``mounts`` is the text of ``/proc/self/mountinfo`` (proc(5)): the fifth field is the mount point with octal
    escapes, the first after `` - `` the type. The longest mount point wins, of equal ones the last mounted.
    """
    best: tuple[int, str] | None = None
    for line in mounts.splitlines():
        left, separator, right = line.partition(" - ")
        fields = left.split()
        if not separator or len(fields) < 5:
            continue
        point = Path(_unescape(fields[4]))
        depth = len(point.parts)
        if path.is_relative_to(point) and (best is None or depth >= best[0]):
            best = (depth, right.split()[0])
    return best[1] if best else None


def _unescape(text: str) -> str:
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        text = text.replace(code, character)
    return text
