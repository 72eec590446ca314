"""Logs of containers, and programs in them, over real sockets; the programs are local ones."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from groundspeed.kube.api import KubeError
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.kube.client import Client

LIMIT_S = 60.0
TALKER = (
    "import sys\n"
    "for line in sys.stdin:\n"
    "    print('got', line.strip(), flush=True)\n"
    "    sys.stderr.write('heard ' + line)\n"
    "sys.exit(7)\n"
)


def local(pod: str, container: str, argv: Sequence[str]) -> tuple[str, ...] | None:
    assert (pod, container) == ("one", "main")
    return None if argv[0] == "nope" else (sys.executable, "-c", *argv[1:])


@pytest.fixture
def pod(server: KubeServer, api: Client) -> Client:
    """An API with a pod in which `python PROGRAM` runs."""
    server.put(ready_pod("one"))
    server.on_exec(local)
    return api


def test_a_log_is_read_by_lines(server: KubeServer, pod: Client) -> None:
    server.write_log("one", b"first\nsecond\nthird", container="main")
    assert list(pod.logs("one", "main")) == [b"first", b"second", b"third"]


def test_a_log_is_followed_until_it_ends(server: KubeServer, pod: Client) -> None:
    server.write_log("one", b"first\n", container="main")
    found = pod.logs("one", "main", follow=True)
    assert next(found) == b"first"
    server.write_log("one", b"second\n", container="main")
    assert next(found) == b"second"
    server.end_log("one", container="main")
    assert list(found) == []


def test_a_log_ends_with_its_pod(server: KubeServer, pod: Client) -> None:
    server.write_log("one", b"first\n", container="main")
    found = pod.logs("one", "main", follow=True)
    assert next(found) == b"first"
    server.remove("Pod", "one")
    assert list(found) == []


def test_a_log_goes_on_from_where_it_was_left(server: KubeServer, pod: Client) -> None:
    server.write_log("one", b"first\n", container="main", time_s=1000.0)
    server.write_log("one", b"second\n", container="main", time_s=1000.5)
    stamped = list(pod.logs("one", "main", timestamps=True))
    assert stamped == [
        b"1970-01-01T00:16:40.000000000Z first",
        b"1970-01-01T00:16:40.500000000Z second",
    ]
    server.write_log("one", b"third\n", container="main", time_s=1001.5)
    since = "1970-01-01T00:16:41.500000000Z"
    assert list(pod.logs("one", "main", since=since)) == [b"third"]


def test_since_is_cut_to_its_second_by_the_server(server: KubeServer, pod: Client) -> None:
    server.write_log("one", b"first\n", container="main", time_s=1000.0)
    server.write_log("one", b"second\n", container="main", time_s=1000.5)
    since = "1970-01-01T00:16:40.500000000Z"
    assert list(pod.logs("one", "main", since=since)) == [b"first", b"second"]


def test_a_log_that_breaks_off_is_an_error(server: KubeServer, pod: Client) -> None:
    server.write_log("one", b"first\n", container="main")
    found = pod.logs("one", "main", follow=True)
    assert next(found) == b"first"
    server.close()
    with pytest.raises(KubeError) as caught:
        list(found)
    assert caught.value.status is None
    assert "broke off" in caught.value.message


def test_a_container_that_has_not_started_is_told(server: KubeServer, api: Client) -> None:
    waiting = ready_pod("one")
    waiting["status"] = {"phase": "Pending"}
    server.put(waiting)
    with pytest.raises(KubeError) as caught:
        api.logs("one", "main")
    assert caught.value.status == 400
    assert caught.value.message == (
        "container main of pod one has not started yet: ContainerCreating"
    )
    with pytest.raises(KubeError, match="pod one has no container side"):
        api.logs("one", "side")


def test_a_program_is_run_to_its_end(pod: Client) -> None:
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    ran = pod.execute("one", "main", ["python", program], limit_s=LIMIT_S)
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, b"out\n", b"err\n")


def test_what_it_is_told_comes_back_as_it_is(pod: Client) -> None:
    """More than all buffers on the way hold, and both ways at once."""
    data = os.urandom(3 << 20)
    program = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    ran = pod.execute("one", "main", ["python", program], stdin=data, limit_s=LIMIT_S)
    assert ran.stdout == data
    assert ran.returncode == 0


def test_without_input_there_is_none(pod: Client) -> None:
    program = "import sys; print(len(sys.stdin.read()))"
    ran = pod.execute("one", "main", ["python", program], limit_s=LIMIT_S)
    assert ran.stdout == b"0\n"


def test_a_program_that_is_not_there_is_told_by_what_the_runtime_says(pod: Client) -> None:
    with pytest.raises(KubeError) as caught:
        pod.execute("one", "main", ["nope"], limit_s=LIMIT_S)
    assert caught.value.message == (
        'nope cannot be run in pod one: exec: "nope": executable file not found in $PATH: unknown'
    )


def test_a_program_that_does_not_end_is_given_up(pod: Client) -> None:
    program = "import sys; sys.stdout.close(); sys.stdin.read(); import time; time.sleep(600)"
    with pytest.raises(KubeError, match="did not end within 0 s"):
        pod.execute("one", "main", ["python", program], limit_s=0.3)


def test_a_program_is_talked_with(pod: Client) -> None:
    with pod.open("one", "main", ["python", TALKER]) as program:
        for number in range(5):
            program.send(f"{number}\n".encode())
            assert read_line(program) == f"got {number}\n".encode()
        assert program.receive(0.0) == b""
        assert program.returncode is None
        program.close_input()
        while program.receive(LIMIT_S) is not None:
            pass
        assert program.returncode == 7
        assert program.errors.splitlines() == [f"heard {n}".encode() for n in range(5)]


def read_line(program) -> bytes:  # noqa: ANN001 - a PodProgram
    found = b""
    while not found.endswith(b"\n"):
        piece = program.receive(LIMIT_S)
        assert piece is not None
        found += piece
    return found


def test_two_programs_are_talked_with_at_once(pod: Client) -> None:
    found: list[bytes] = []

    def talk(name: str) -> None:
        with pod.open("one", "main", ["python", TALKER]) as program:
            for number in range(20):
                program.send(f"{name}{number}\n".encode())
                found.append(read_line(program))

    threads = [threading.Thread(target=talk, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f"got {n}{i}\n".encode() for n in "ab" for i in range(20))


def test_a_connection_that_is_lost_is_told(server: KubeServer, pod: Client) -> None:
    with pod.open("one", "main", ["python", TALKER]) as program:
        program.send(b"one\n")
        assert read_line(program) == b"got one\n"
        while not program.errors.endswith(b"\n"):
            assert program.receive(0.01) == b""
        server.cut_programs()
        with pytest.raises(KubeError) as caught:
            program.receive(LIMIT_S)
        assert "the connection to python in pod one is lost" in caught.value.message
        assert "it said: heard one" in caught.value.message


def test_a_program_whose_pod_is_gone_was_killed(server: KubeServer, pod: Client) -> None:
    with pod.open("one", "main", ["python", TALKER]) as program:
        program.send(b"one\n")
        read_line(program)
        server.remove("Pod", "one")
        assert program.receive(LIMIT_S) is None
        assert program.returncode == 137


def test_an_older_server_cannot_end_an_input(server: KubeServer, pod: Client) -> None:
    server.exec_protocols = ["v4.channel.k8s.io"]
    server.serve("/version", {"major": "1", "minor": "27+", "gitVersion": "v1.27.1"})
    with pytest.raises(KubeError, match="cannot end the input"):
        pod.execute("one", "main", ["python", "pass"], stdin=b"x", limit_s=LIMIT_S)
    with pod.open("one", "main", ["python", TALKER]) as program:
        program.send(b"one\n")
        assert read_line(program) == b"got one\n"
        with pytest.raises(KubeError, match="cannot end the input"):
            program.close_input()


def test_a_pod_that_is_not_there_or_not_allowed_is_told(server: KubeServer, pod: Client) -> None:
    with pytest.raises(KubeError, match="there is no pod two in namespace bench"):
        pod.open("two", "main", ["python"])
    server.deny("get", "pods/exec")
    with pytest.raises(KubeError, match="tester may not get pods/exec in namespace bench"):
        pod.open("one", "main", ["python"])


def test_a_busy_server_is_asked_again(server: KubeServer) -> None:
    api = server.client(sleep=lambda _: None)
    server.put(ready_pod("one"))
    server.on_exec(local)
    server.fail_next("GET", "/exec", 503, times=2)
    ran = api.execute("one", "main", ["python", "print(1)"], limit_s=LIMIT_S)
    assert ran.stdout == b"1\n"
