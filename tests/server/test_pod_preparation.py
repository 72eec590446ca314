"""What the pod of a server runs before the server does, with a real initdb."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from groundspeed.manifests import servers
from groundspeed.targets import installation, process
from tests.small_runs import account, needs
from tests.unit.manifests.server_plans import GP3, LOCAL, RUN_ID, environment, main_object

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tests.small_runs import Place

VERSION = 16
RULE = "host all all all scram-sha-256"


class Pod:
    """Two volumes and a Secret of a pod, as directories here."""

    def __init__(self, root: Path) -> None:
        self._planned = environment(version=VERSION, storage=LOCAL, wal_storage=GP3)
        self._root = root
        self.data, self.log = (
            root / path.lstrip("/")
            for path in servers.data_directories(self._planned, run_id=RUN_ID)
        )
        password = root / "etc/groundspeed/password"
        for directory in (self.data.parent, self.log.parent, password.parent):
            directory.mkdir(parents=True)
            owner = account()
            if owner is not None:
                os.chown(directory, owner.uid, owner.gid)
        password.write_text("secret")

    def prepare(self) -> subprocess.CompletedProcess[str]:
        """Run the command of the init container, on the directories here."""
        pod = main_object(self._planned)["spec"]["template"]["spec"]
        return self._run(pod["initContainers"][0]["command"])

    def wipe(self) -> subprocess.CompletedProcess[str]:
        return self._run(servers.wipe_command(self._planned, run_id=RUN_ID))

    def _run(self, command: list[str] | tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        mounts = ("/var/lib/postgresql/", "/etc/groundspeed/")
        words = list(command)
        for mount in mounts:
            words = [word.replace(mount, f"{self._root}{mount}") for word in words]
        programs = installation.find(VERSION).bin_dir
        variables = {"PATH": f"{programs}:{os.environ['PATH']}"}
        return process.run(words, account=account(), environment=variables)


@pytest.fixture
def pod(place: Place) -> Pod:
    needs(VERSION)
    return Pod(place.root)


def test_a_data_directory_is_made_whole(pod: Pod) -> None:
    assert pod.prepare().returncode == 0
    assert (pod.data / "PG_VERSION").read_text() == f"{VERSION}\n"
    assert RULE in (pod.data / "pg_hba.conf").read_text()
    assert (pod.data / "pg_wal").resolve() == pod.log
    assert stat.S_IMODE(pod.data.stat().st_mode) == 0o700


def test_one_that_is_there_is_kept_and_closed_again(pod: Pod) -> None:
    pod.prepare()
    mark = pod.data / "mark"
    mark.touch()
    pod.data.chmod(0o2770)
    assert pod.prepare().returncode == 0
    assert mark.exists()
    assert stat.S_IMODE(pod.data.stat().st_mode) & 0o777 == 0o700


def test_one_that_was_interrupted_is_begun_again(pod: Pod) -> None:
    pod.prepare()
    # As if it had been killed before the directory got its name.
    pod.data.rename(pod.data.with_name(f"{pod.data.name}.new"))
    assert pod.prepare().returncode == 0
    assert (pod.data / "PG_VERSION").exists()
    assert not pod.data.with_name(f"{pod.data.name}.new").exists()
    assert any(pod.log.iterdir())


def test_data_of_others_on_the_volume_stay(pod: Pod) -> None:
    other = pod.data.parent / "gs-other"
    other.mkdir()
    pod.prepare()
    assert pod.wipe().returncode == 0
    assert [path.name for path in pod.data.parent.iterdir()] == ["gs-other"]
    assert list(pod.log.parent.iterdir()) == []
