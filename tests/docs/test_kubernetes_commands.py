"""Commands that want a cluster, in help and on the page, on an API server in this process.

The runner is played by the test; on a real cluster `make test-k8s` does the same.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.docs.shell import SMALLER, Shell
from tests.docs.test_documentation import ROOT, blocks, examples, needs_cluster
from tests.kube_server import KubeServer
from tests.unit.cli.cluster import SUITE, Cluster, storage_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = ROOT / "docs" / "kubernetes.md"


class Bench:
    """A directory to type in, and the cluster that its kubeconfig names."""

    def __init__(self, directory: Path, server: KubeServer) -> None:
        results = directory / "claim"
        results.mkdir()
        self.cluster = Cluster(server, results)
        # Its runner begins as soon as it may, and measures all.
        self.cluster.at_job = self.cluster.measure_all
        for name in ("local-path", "fast-ssd"):
            server.put(storage_class(name))
        for driver in ("ebs.csi.aws.com", "driver.longhorn.io", "csi.weka.io"):
            server.put(
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "CSIDriver",
                    "metadata": {"name": driver},
                }
            )
        (directory / "mine.yaml").write_text(SUITE.replace("suite: small", "suite: mine"))
        self.shell = Shell(directory)
        kubeconfig = server.kubeconfig(directory / "kubeconfig", context="prod")
        self.shell.variables["KUBECONFIG"] = str(kubeconfig)

    def type(self, line: str) -> None:
        """Run a line; what it calls RUN, or an example's run id, is the one that was started."""
        if "groundspeed run " in line:
            self.shell.run(line)
            return
        run = r"\bRUN\b|\b2026[0-9-]+-mine-3f2a"
        self.shell.run(re.sub(run, lambda _: self.cluster.run_id, line))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with KubeServer(cnpg=True) as server:
        found = Bench(tmp_path, server)
        yield found
        found.cluster.close()


def test_the_small_measure_is_that_of_the_other_pages() -> None:
    # Or a run that is shown here would have hundreds of rounds.
    assert any("repeats: 1" in text for text in SMALLER)


def test_examples_in_help_run(bench: Bench) -> None:
    lines = [line for _, line in examples() if needs_cluster(line)]
    assert {shlex.split(line)[1] for line in lines} == {"run", "attach", "collect", "clean"}
    # What removes it comes last.
    for line in sorted(lines, key=lambda line: "--run" in line):
        bench.type(line)


@pytest.mark.parametrize("number", [0, 1])
def test_the_walks_of_the_page(bench: Bench, number: int) -> None:
    walk = blocks(PAGE, "console")[number].splitlines()
    assert len(walk) == 5
    for line in walk:
        command = line.removeprefix("$ ")
        if command.startswith("groundspeed "):
            bench.type(command.replace("REGISTRY/", ""))
    assert bench.cluster.server.objects("Job") == []
