"""Killed workers and killed jobs: the same bytes as those of an undisturbed run; tiles that kill are named."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from processes import lines, python
from restoration_cases import whole_methods
from scale_cases import Deadly
from store_cases import SIGMA, grey, stored, untiled

from epitomes import Noise, read
from epitomes.restoration import NonLocal
from epitomes.scale import denoise_store, process_pool

pytestmark = [pytest.mark.slow, whole_methods, pytest.mark.skipif(os.name != "posix", reason="needs signals")]
pytest.importorskip("zarr")

LEVEL = 10 * SIGMA
KILLS = 20

DRIVER = """
import sys
from epitomes.scale import denoise_store
if __name__ == "__main__":
    def tell(progress):
        print(progress.stage, progress.done, flush=True)
    denoise_store(sys.argv[1], sys.argv[2], float(sys.argv[3]), preset="fast", tile=16, callback=tell)
"""


def content(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def test_killed_workers_change_no_byte(tmp_path: Path) -> None:
    path, seen = stored(tmp_path, grey()), tmp_path / "seen"
    seen.mkdir()
    deadly = Deadly(seen=str(seen), most=KILLS)
    result = denoise_store(path, tmp_path / "out.zarr", LEVEL, method=deadly, tile=32, executor=process_pool(2))
    assert result.complete and len(list(seen.iterdir())) >= KILLS
    quiet = denoise_store(path, tmp_path / "quiet.zarr", LEVEL, method=NonLocal(preset="fast"), tile=32)
    assert content(result.path) == content(quiet.path)


def test_a_killed_job_goes_on(tmp_path: Path) -> None:
    path, goal = stored(tmp_path, grey()), tmp_path / "out.zarr"
    before = -1
    for enough in (20, 60):
        with python("-c", DRIVER, path, goal, LEVEL) as job:
            for line in lines(job):
                stage, done = line.split()
                if stage == "tiles" and int(done) >= enough:
                    job.send_signal(signal.SIGKILL)
                    break
        written = goal.with_name("out.zarr.partial.jsonl").read_text().splitlines()
        assert len(written) > enough > before and not goal.exists()
        before = enough
    journal = goal.with_name("out.zarr.partial.jsonl")
    journal.write_text(journal.read_text() + '{"tile": 9')  # a line that was cut short
    result = denoise_store(path, goal, LEVEL, preset="fast", tile=16)
    assert result.n_resumed >= 60 and result.complete and not journal.exists()
    undisturbed = denoise_store(path, tmp_path / "quiet.zarr", LEVEL, preset="fast", tile=16)
    assert content(goal) == content(undisturbed.path)
    np.testing.assert_array_equal(read(goal).pixels, untiled(path, NonLocal(preset="fast"), Noise.gaussian(LEVEL)))


def test_tiles_that_were_lost_are_made_again(tmp_path: Path) -> None:
    path, goal = stored(tmp_path, grey()), tmp_path / "out.zarr"

    def stop(progress: object) -> None:
        if getattr(progress, "done", 0) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        denoise_store(path, goal, LEVEL, preset="fast", tile=32, callback=stop)
    chunks = [file for file in (tmp_path / "out.zarr.partial" / "0" / "c").rglob("*") if file.is_file()]
    chunks[3].unlink()  # as a crash of the machine may do
    with pytest.raises(ValueError, match="resume=False"):
        denoise_store(path, goal, LEVEL / 2, preset="fast", tile=32)
    result = denoise_store(path, goal, LEVEL, preset="fast", tile=32)
    assert result.n_resumed == 8
    np.testing.assert_array_equal(read(goal).pixels, untiled(path, NonLocal(preset="fast"), Noise.gaussian(LEVEL)))


def test_a_tile_that_kills_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    """On a cluster, too: `test_tasks` shows it with tasks that take no time."""
    pixels = grey()
    pixels[80, 80] = 60_000  # in the middle of a tile of 32 x 32, far from its neighbours
    path, began = stored(tmp_path, pixels), time.monotonic()
    result = denoise_store(path, tmp_path / "out.zarr", LEVEL, method=Deadly(), tile=32, executor=process_pool(2))
    assert time.monotonic() - began < 60
    (failure,) = result.failures
    assert failure.item == "Y 64:96, X 64:96" and "worker died" in failure.reason
    assert not result.complete and result.path.name == "out.zarr.partial" and not (tmp_path / "out.zarr").exists()
    import zarr

    kept = np.asarray(zarr.open(str(result.path), mode="r")["0"][...])
    expected = untiled(path, NonLocal(preset="fast"), Noise.gaussian(LEVEL))
    expected[64:96, 64:96] = 0
    np.testing.assert_array_equal(kept, expected)


def test_ports_are_on_the_loopback_address(request: pytest.FixtureRequest) -> None:
    """Neither a pool nor the cluster of the tests can be reached from elsewhere."""
    client = request.getfixturevalue("dask_client")
    executor = client.get_executor(pure=False)
    assert list(executor.map(abs, [-1, 2])) == [1, 2]
    pids = {client.run_on_scheduler(os.getpid), os.getpid(), *client.run(os.getpid).values()}
    addresses = {address for pid in pids for address in listening(pid)}
    assert addresses and addresses <= {"0100007F", "0" * 24 + "01000000"}  # 127.0.0.1 and ::1
    with process_pool(1)() as pool:
        pid = pool.submit(os.getpid).result()
        assert not listening(pid)


def listening(pid: int) -> set[str]:
    """Addresses that a process listens on, in hexadecimal digits as Linux writes them."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(entry)
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            sockets.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == "0A" and columns[9] in sockets:
                found.add(columns[1].split(":")[0])
    return found
