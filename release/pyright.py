"""Pyright, strict: once over everything, and as Windows and macOS over the files that name a system.

A file that asks for no system is read alike as all of them: what the standard library has on one of them only is kept
in the files that ask (`tests/portability`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOTS = ("mcp_servers", "agent_graphs", "frameworks", "evaluation")
SYSTEMS = ("Windows", "Darwin")
_NAMES = re.compile(
    r"\bsys\.platform\b|\bos\.(?:name|sep)\b|\bplatform\.system\b|\bsignal\.|\bsocket\.AF_UNIX\b"
    r"|^\s*(?:import|from) (?:fcntl|msvcrt|termios|tty|pty|resource|pwd|grp|winreg)\b"
    r"|\bos\.(?:fork|kill|killpg|getpgid|setsid|getuid|geteuid|umask|chmod|fchmod|sysconf|statvfs|O_\w+)\b",
    re.MULTILINE,
)


def naming_a_system() -> list[str]:
    """The files of the product in which a system is asked for, or something that one of them lacks."""
    files = (path for root in ROOTS for path in sorted((ROOT / root).rglob("*.py")))
    return [str(path.relative_to(ROOT)) for path in files if _NAMES.search(path.read_text(encoding="utf-8"))]


def main() -> int:
    """The worst exit code of pyright."""
    pyright = [sys.executable, "-m", "pyright"]
    runs = [pyright, *([*pyright, "--pythonplatform", system, *naming_a_system()] for system in SYSTEMS)]
    return max(subprocess.run(run, cwd=ROOT, check=False).returncode for run in runs)


if __name__ == "__main__":
    sys.exit(main())
