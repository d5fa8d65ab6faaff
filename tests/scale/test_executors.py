"""Pools of processes: their workers end with the process that made them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
import os, time
from epitomes.scale import process_pool

if __name__ == "__main__":
    with process_pool(2)() as pool:
        print(*set(pool.map(pid_of, range(8))), flush=True)
        time.sleep(60)
"""


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes in /proc")
def test_workers_end_with_a_killed_parent(tmp_path) -> None:
    script = tmp_path / "pool.py"
    script.write_text(SCRIPT.replace("import os, time\n", "import os, time\nfrom os_pid import pid_of\n"))
    (tmp_path / "os_pid.py").write_text("import os\n\n\ndef pid_of(_):\n    return os.getpid()\n")
    running = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    workers = [int(word) for word in running.stdout.readline().split()]
    assert workers and all(map(is_running, workers))
    running.send_signal(signal.SIGKILL)
    running.wait()
    until = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(is_running, workers))
