"""Environments that differ in more than what is compared, named with both values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse.attempts import settle
from groundspeed.analyse.compare import compare
from groundspeed.analyse.doubts import FootnoteBook
from groundspeed.analyse.guards import guards, refuse_confounded
from groundspeed.errors import ConfoundedError, ExitCode
from groundspeed.record.machine import GroupWork
from tests.examples import make_host, make_provenance, make_run, make_server, make_storage
from tests.unit.guarded import GIB, codes, evidence, guarded, host_work, side_by_side, sizes

if TYPE_CHECKING:
    from groundspeed.record import Evidence, Provenance


def server(*settings: tuple[str, str, str | None], **changed: object) -> Provenance:
    made = msgspec.structs.replace(make_server(settings=settings), **changed)
    return make_provenance(server=made)


def of_parity(
    first: Provenance,
    second: Provenance,
    *,
    vary: tuple[str, ...] | None = None,
    seen: dict[str, Evidence] | None = None,
) -> list[str]:
    """The messages of the parity guard about a baseline and an environment that writes."""
    records = side_by_side({"a": first, "b": second}, workloads=("tpcb-like",), seen=seen)
    return [f.message for f in guarded(records, vary=vary) if f.kind.value == "parity"]


# The tuning steps of the published comparison: huge pages, and with them more.
BEFORE = server(("shared_buffers", "248960", "8kB"))
AFTER = server(
    ("huge_pages", "on", None),
    ("max_connections", "200", None),
    ("shared_buffers", "786432", "8kB"),
)


def test_the_published_tuning_step_changed_more_than_huge_pages() -> None:
    records = side_by_side(
        {"a": BEFORE, "b": AFTER}, workloads=("tpcb-like", "simple-update"), clients=(1, 8)
    )
    [found] = guarded(records, vary=("settings.huge_pages",))
    assert found.code == "confounded"
    assert found.message == (
        "a and b: max_connections default and 200, shared_buffers 1945MB and 6GB differ besides"
        " huge_pages"
    )
    assert found.environments == ("a", "b")
    cells = {(c.environment, c.workload, c.clients) for c in found.cells}
    assert cells == {("b", w, c) for w in ("tpcb-like", "simple-update") for c in (1, 8)}
    assert len(found.cells) == 4


def test_a_step_of_several_settings_is_cautioned_without_a_declaration() -> None:
    records = side_by_side({"a": BEFORE, "b": AFTER}, workloads=("tpcb-like",))
    [found] = guarded(records)
    assert found.code == "several-settings"
    for name in ("huge_pages", "max_connections", "shared_buffers"):
        assert name in found.message
    refuse_confounded([found])


@pytest.mark.parametrize(
    "vary",
    [
        ("settings",),
        ("settings.huge_pages", "settings.max_connections", "settings.shared_buffers"),
    ],
)
def test_what_the_suite_lets_differ_is_no_finding(vary: tuple[str, ...]) -> None:
    assert of_parity(BEFORE, AFTER, vary=vary) == []


def test_one_kind_alone_is_what_is_compared() -> None:
    first = make_provenance(storage=make_storage(label="x"))
    second = make_provenance(storage=make_storage(label="y", filesystem="xfs"))
    assert of_parity(first, second) == []
    assert of_parity(first, first) == []
    assert of_parity(BEFORE, server(("shared_buffers", "786432", "8kB"))) == []


def test_several_kinds_without_a_declaration_leave_the_reason_open() -> None:
    first = make_provenance(
        storage=make_storage(label="x"), server=make_server(settings=[("jit", "off", None)])
    )
    second = make_provenance(
        storage=make_storage(label="y"), server=make_server(settings=[("jit", "on", None)])
    )
    [message] = of_parity(first, second)
    assert message == (
        "a and b: they differ in storage (storage x and y) and settings (jit off and on), and"
        " nothing tells which of them made the difference; declare what is compared, as in"
        " vary: storage"
    )


def test_what_may_differ_but_does_not_is_told_too() -> None:
    first, second = server(("jit", "off", None)), server(("jit", "on", None))
    assert of_parity(first, second, vary=("storage",)) == [
        "a and b: jit off and on differs, where only storage may"
    ]


EC2 = msgspec.structs.replace(make_host(), cpu_count=4, memory_bytes=8 * GIB, cpu_model="Other")
EMULATED = msgspec.structs.replace(
    make_storage(label="this-disk", emulated=True), memory_bytes=4 * GIB, cache_bytes=3 * GIB
)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (server(version="17.0"), "PostgreSQL 16.4 and 17.0 differs"),
        (server(extensions=("plpgsql", "pg_stat_statements 1.10")), "pg_stat_statements none and"),
        (make_provenance(host=make_host(kernel="6.2")), "kernel 6.1.0-example and 6.2 differs"),
        (
            make_provenance(host=EC2),
            "CPU Example CPU and Other, cores 8 and 4, memory 16.0 GiB and 8.00 GiB differ",
        ),
        (
            make_provenance(storage=msgspec.structs.replace(make_storage(), mount_options="ro")),
            "mount options rw,relatime and ro differs",
        ),
        (make_provenance(storage=EMULATED), "memory 16.0 GiB and 4.00 GiB"),
    ],
)
def test_every_circumstance_is_compared(second: Provenance, told: str) -> None:
    first = server() if second.server != make_provenance().server else make_provenance()
    [message] = of_parity(first, second, vary=("network",))
    assert told in message


def connected(conninfo: str) -> Provenance:
    return msgspec.structs.replace(make_provenance(), command=("pgbench", "-T", "5", conninfo))


def test_the_way_to_the_server_is_compared() -> None:
    socket = connected("host=/tmp/x port=5432 user=u")
    loopback = connected("port=5432 host=127.0.0.1 user=u")
    remote = connected("user=u host=db.example hostaddr=192.0.2.1")
    assert of_parity(socket, socket, vary=("storage",)) == []
    assert of_parity(socket, loopback, vary=("storage",)) == [
        "a and b: connection unix socket and TCP on loopback differs, where only storage may"
    ]
    [message] = of_parity(loopback, remote, vary=("storage",))
    assert "connection TCP on loopback and TCP over a network" in message
    assert "server's machine this one and db.example" in message


def of_sizes(**changed: object) -> Evidence:
    return evidence(sizes(**changed))


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (
            of_sizes(data_checksums="off"),
            of_sizes(data_checksums="on"),
            "data_checksums off and on",
        ),
        (of_sizes(is_encrypted=False), of_sizes(is_encrypted=True), "encryption off and on"),
        (
            of_sizes(huge_pages_status="off"),
            of_sizes(huge_pages_status="on"),
            "huge_pages_status off and on",
        ),
        (
            of_sizes(round_trip_s=0.0001),
            of_sizes(round_trip_s=0.0012),
            "round trip 0.1 ms and 1.2 ms",
        ),
        (
            evidence(host=host_work(group=GroupWork(version=2, cpu_limit_count=2.0))),
            evidence(host=host_work(group=GroupWork(version=2))),
            "CPU limit 2 cores and none",
        ),
    ],
)
def test_what_probes_saw_is_compared(first: Evidence, second: Evidence, told: str) -> None:
    one = make_provenance()
    [message] = of_parity(one, one, vary=("storage",), seen={"a": first, "b": second})
    assert f"{told} differs" in message
    # Unknown on one side is neither alike nor different.
    assert of_parity(one, one, vary=("storage",), seen={"a": first}) == []


def test_the_memory_of_a_control_group_is_that_of_the_environment() -> None:
    limited = evidence(host=host_work(group=GroupWork(version=2, memory_limit_bytes=2 * GIB)))
    one = make_provenance()
    [message] = of_parity(one, one, vary=("storage",), seen={"a": limited})
    assert "memory 2.00 GiB and 16.0 GiB differs" in message


def test_values_that_probes_asked_for_stand_in_for_default() -> None:
    seen = {"a": of_sizes(max_connections_count=100), "b": of_sizes(max_connections_count=200)}
    [message] = of_parity(BEFORE, AFTER, vary=("settings.huge_pages",), seen=seen)
    assert "max_connections 100 and 200, shared_buffers 1945MB and 6GB differ besides" in message
    # On one side alone they make no difference of their own.
    assert of_parity(BEFORE, BEFORE, vary=(), seen={"a": of_sizes(max_connections_count=100)}) == []


@pytest.mark.parametrize("trips_s", [(0.00005, 0.00012), (0.0010, 0.0014)])
def test_round_trips_of_one_place_vary(trips_s: tuple[float, float]) -> None:
    seen = {n: of_sizes(round_trip_s=t) for n, t in zip("ab", trips_s, strict=True)}
    one = make_provenance()
    assert of_parity(one, one, vary=("storage",), seen=seen) == []


def test_consequences_are_not_told_beside_their_cause() -> None:
    seen = {"a": of_sizes(huge_pages_status="off"), "b": of_sizes(huge_pages_status="on")}
    first, second = server(("huge_pages", "off", None)), server(("huge_pages", "on", None))
    assert of_parity(first, second, vary=("settings.huge_pages",), seen=seen) == []
    older = server(version="16.4", extensions=("pg_stat_statements 1.10",))
    newer = msgspec.structs.replace(
        server(version="17.0", extensions=("pg_stat_statements 1.11",)), tool_version="17.0"
    )
    assert of_parity(older, newer, vary=("version",)) == []
    assert of_parity(older, newer) == []


def test_names_and_places_of_a_server_confound_nothing() -> None:
    first = server(("port", "5432", None), ("TimeZone", "UTC", None))
    second = server(("port", "5433", None), ("log_timezone", "UTC", None))
    assert of_parity(first, second, vary=()) == []


def test_where_the_files_of_an_emulated_device_lie_shows_in_no_figure() -> None:
    elsewhere = msgspec.structs.replace(EMULATED, filesystem="xfs", device="/dev/other")
    first, second = make_provenance(storage=EMULATED), make_provenance(storage=elsewhere)
    assert of_parity(first, second, vary=()) == []


def test_each_environment_is_judged_by_itself() -> None:
    environments = {"a": BEFORE, "b": AFTER, "c": BEFORE, "d": server(version="17.0")}
    found = guarded(side_by_side(environments, workloads=("tpcb-like",)), vary=("settings",))
    assert codes(found) == ["confounded"]
    assert found[0].environments == ("a", "d")


def test_runs_that_declare_different_things_allow_what_all_of_them_allow() -> None:
    records = side_by_side({"a": BEFORE, "b": AFTER}, workloads=("tpcb-like",))
    again = [msgspec.structs.replace(r, elapsed_s=7.0) for r in records]
    runs = [
        msgspec.structs.replace(make_run(records, run_id="one"), vary=("settings", "storage")),
        msgspec.structs.replace(make_run(again, run_id="two"), vary=("storage",)),
    ]
    settled = settle(runs)
    found = guards(settled, compare(settled, "a", FootnoteBook()))
    assert codes(found) == ["confounded"]


def test_a_strict_reader_gets_no_confounded_comparison() -> None:
    records = side_by_side({"a": BEFORE, "b": AFTER}, workloads=("tpcb-like",))
    refuse_confounded(guarded(records, vary=("settings",)))
    with pytest.raises(ConfoundedError) as caught:
        refuse_confounded(guarded(records, vary=("settings.huge_pages",)))
    error = caught.value
    assert error.exit_code == ExitCode.CONFOUNDED == 8
    assert error.message.startswith("refused: a and b: max_connections default and 200")
    assert "vary:" in error.hint
    assert "\n" not in error.message + error.hint


def test_a_long_list_is_cut() -> None:
    names = [f"setting_{i:02}" for i in range(20)]
    [message] = of_parity(server(), server(*((n, "1", None) for n in names)), vary=("storage",))
    assert "setting_11 default and 1 and 8 more differ" in message
