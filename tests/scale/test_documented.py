"""Commands, scripts and manifests of the pages on scale: they parse, and every option that they use exists."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from epitomes.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
STORE, LEARNING = ((DOCS / name).read_text() for name in ("scale.md", "scale-learning.md"))


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", STORE, re.DOTALL | re.MULTILINE)
    return [block for name, block in found if name == language]


def manifests() -> list[dict[str, Any]]:
    return list(pytest.importorskip("yaml").safe_load_all(blocks("yaml")[0]))


def commands() -> list[list[str]]:
    """Command lines of both pages, and those of containers."""
    lines = [line for block in blocks("") for line in block.splitlines()]
    lines += re.findall(r"^    ((?:epitomes|dask) .*)", LEARNING, re.MULTILINE)
    words = [shlex.split(line.removesuffix("&"), comments=True) for line in lines]
    containers = [
        container["command"]
        for manifest in manifests()
        if "template" in manifest["spec"]
        for container in manifest["spec"]["template"]["spec"]["containers"]
    ]
    return [line for line in [*words, *containers] if line]


def parse(words: list[str]) -> click.Context:
    """What a command makes of its arguments, before it does anything."""
    program, name, *arguments = words
    if program == "epitomes":
        group: Any = typer.main.get_command(app)
        command: Any = group.commands[name]
    else:
        assert program == "dask"
        (found,) = entry_points(group="dask_cli", name=name)
        command = found.load()
    context: click.Context = command.make_context(name, arguments)
    return context


@pytest.mark.slow
def test_command_lines_parse() -> None:
    pytest.importorskip("distributed")
    lines = commands()
    assert {line[1] for line in lines} == {"denoise", "learn", "stats", "merge", "scheduler", "worker"}
    for line in lines:
        assert parse(line).params
        if line[0] == "dask":  # every port that we open ourselves is on the loopback address
            assert "--dashboard-address" in line and any(word.startswith("127.0.0.1:") for word in line)
    with pytest.raises(Exception, match="No such option"):
        parse(["epitomes", "denoise", "a.zarr", "-o", "b.zarr", "--no-such-option"])


def test_scripts_parse() -> None:
    for script in blocks("python"):
        tree = ast.parse(script)
        assert any(isinstance(each, ast.ImportFrom) and each.module == "epitomes.scale" for each in ast.walk(tree))
    (script,) = blocks("bash")
    assert "#SBATCH" in script and "denoise_slurm.py" in script
    if (bash := shutil.which("bash")) is not None:
        subprocess.run([bash, "-n"], input=script, text=True, check=True)


def test_manifests_belong_together() -> None:
    found = manifests()
    assert [each["kind"] for each in found] == ["Service", "Deployment", "Deployment", "Job"]
    service, scheduler, worker, job = found
    labels = scheduler["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels == scheduler["spec"]["selector"]["matchLabels"]
    assert worker["spec"]["selector"]["matchLabels"] == worker["spec"]["template"]["metadata"]["labels"]
    address = f"tcp://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    for each in (worker, job):
        pod = each["spec"]["template"]["spec"]
        container = pod["containers"][0]
        assert address in container["command"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_the_cluster_of_the_script_is_one_that_can_be_made() -> None:
    """The job script of the queue is made, with the arguments of the page, and not submitted."""
    jobqueue = pytest.importorskip("dask_jobqueue")
    script = next(block for block in blocks("python") if "SLURMCluster" in block)
    call = next(
        each
        for each in ast.walk(ast.parse(script))
        if isinstance(each, ast.Call) and "SLURMCluster" in ast.unparse(each)
    )
    arguments = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    with jobqueue.SLURMCluster(**{**arguments, "interface": "lo"}) as cluster:
        made = cluster.job_script()
    assert "--dashboard-address 127.0.0.1:0" in made and "#SBATCH -p normal" in made
    assert "export EPITOMES_NUM_THREADS=1" in made
