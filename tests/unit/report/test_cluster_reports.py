"""Where servers in Kubernetes ran: on a terminal, in Markdown, in HTML and in a story."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from rich.console import Console

from groundspeed.analyse import analyse
from groundspeed.record.cluster import PodResources
from groundspeed.report import data, html, markdown, story, terminal, why_data
from groundspeed.report.cluster_view import cluster_view, load_text, pod_text, volume_text
from tests.clustered import (
    DATABASE_NODE,
    GIB,
    LOAD_NODE,
    PRESSURE,
    in_cluster,
    make_cluster,
    make_container,
    make_longhorn,
    make_node,
    make_pod,
    make_volume,
    make_work,
)
from tests.evident import HOSTILE, make_evidence
from tests.examples import example_findings, make_run
from tests.unit.guarded import side_by_side

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.record import ClusterFacts
    from groundspeed.record.cluster_work import ClusterWork

BURSTABLE = make_pod(
    qos="Burstable", requests=PodResources(cpu_count=2.0, memory_bytes=8 * GIB), cpuset="0-7"
)
TWO = {
    "gp3": make_cluster(BURSTABLE),
    "longhorn-2": make_cluster(
        make_pod(make_node("ip-10-0-1-33")),
        make_longhorn("ip-10-0-1-33", "ip-10-0-1-34"),
        operator=None,
    ),
}


def findings_of(facts: dict[str, ClusterFacts], work: ClusterWork | None = None) -> Findings:
    seen = msgspec.structs.replace(make_evidence(), cluster=work or make_work())
    records = side_by_side(
        {name: in_cluster(one) for name, one in facts.items()},
        workloads=("tpcb-like",),
        clients=(8,),
        seen=dict.fromkeys(facts, seen),
    )
    return analyse([make_run(records)])


def printed(findings: Findings, columns: int = 80) -> str:
    text = io.StringIO()
    terminal.render(findings, Console(width=columns, file=text))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def test_a_terminal_says_where_each_server_ran() -> None:
    text = printed(findings_of(TWO))

    start = text.index("Where the servers ran")
    assert text[start : text.index("\n\n", start)].splitlines() == [
        "Where the servers ran: Kubernetes 1.34.2",
        "gp3",
        "  node    ip-10-0-1-17 (m6i.2xlarge, eu-west-1a, 7.91 CPUs, 30.0 GiB)",
        "  pod     Burstable, 2 to 4 CPUs, 8.00 GiB to 16.0 GiB",
        "  volume  gs-1f6c-gp3-data 100 GiB: ebs.csi.aws.com, iops=16000,",
        "          throughput=1000, type=gp3",
        "  made by CloudNativePG 1.29.0, 1 instance",
        "longhorn-2",
        "  node    ip-10-0-1-33 (m6i.2xlarge, eu-west-1a, 7.91 CPUs, 30.0 GiB)",
        "  pod     Guaranteed, 4 CPUs, 16.0 GiB, pinned to 2-5",
        "  volume  gs-1f6c-longhorn-data 100 GiB: driver.longhorn.io,",
        "          dataLocality=disabled, numberOfReplicas=2, 2 replicas on ip-10-0-1-33,",
        "          ip-10-0-1-34 (healthy)",
        "The load was made on ip-10-0-1-40 (m6i.2xlarge, eu-west-1a, 7.91 CPUs, 30.0",
        "GiB).",
    ]
    assert max(len(line) for line in text.splitlines()) <= 80


def test_markdown_says_it_in_a_table() -> None:
    text = markdown.render(findings_of(TWO))

    assert "## Where the servers ran" in text
    assert (
        "| gp3 | ip-10-0-1-17 (m6i.2xlarge, eu-west-1a, 7.91 CPUs, 30.0 GiB) | Burstable, 2 to 4"
        " CPUs, 8.00 GiB to 16.0 GiB | gs-1f6c-gp3-data 100 GiB: ebs.csi.aws.com, iops=16000,"
        " throughput=1000, type=gp3 | CloudNativePG 1.29.0, 1 instance |" in text
    )
    assert "| class parameters |" in text


def test_html_says_it_above_all_that_is_known() -> None:
    page = html.render(findings_of(TWO))

    assert page.index("Where the servers ran") < page.index("Where they differ")
    assert "driver.longhorn.io, dataLocality=disabled" in page
    assert "<td>eu-west-1a</td>" in page
    # What is known of a machine is of the one that makes the load, and says so.
    assert ">kernel (load)<" in page


def test_names_of_a_cluster_mean_themselves() -> None:
    hostile = {"a": make_cluster(make_pod(make_node(HOSTILE))), "b": make_cluster()}
    findings = findings_of(hostile)

    assert HOSTILE not in html.render(findings)
    assert "<script>" not in markdown.render(findings)
    assert "\x1b" not in printed(findings)


def test_outside_of_kubernetes_nothing_is_said() -> None:
    findings = example_findings()

    assert cluster_view(findings).rows == ()
    assert "Where the servers ran" not in printed(findings)
    assert "Where the servers ran" not in markdown.render(findings)
    assert "Where the servers ran" not in html.render(findings)


def test_programs_get_all_of_it() -> None:
    findings = findings_of(TWO)

    told = json.loads(data.to_json(findings))["environments"][0]["cluster"]
    assert told["server"]["node"]["name"] == DATABASE_NODE
    trial = json.loads(why_data.trial_to_json(findings.trials[0], findings))
    assert trial["evidence"]["cluster"]["server"]["throttled_count"] == 20


def entry(lines: tuple[str, ...], word: str) -> str:
    """What the story says behind a word, in one line."""
    found: list[str] = []
    for line in lines:
        if line.startswith(word):
            found.append(line.removeprefix(word).strip())
        elif found and line.startswith(" "):
            found.append(line.strip())
        elif found:
            break
    return " ".join(found)


def told(work: ClusterWork) -> tuple[str, ...]:
    findings = findings_of({"gp3": make_cluster(BURSTABLE)}, work)
    return story.story(findings.trials[0], findings)


def test_a_story_tells_what_the_server_had_and_what_befell_it() -> None:
    lines = told(make_work())

    assert entry(lines, "pod").startswith(
        "burnt 3.61 cores, held back in 2% of its periods; memory 9.00 GiB"
    )
    assert entry(lines, "cluster") == "Unhealthy x4 at 12 s (Readiness probe failed)"
    assert len(lines) <= 20


def test_a_story_tells_trouble_before_events() -> None:
    work = make_work(pressures=(PRESSURE,), restart_count=1, oom_count=1)

    assert entry(told(work), "cluster").startswith(
        "began anew; 1 process killed for its memory; MemoryPressure on"
    )


def test_a_quiet_cluster_has_no_line() -> None:
    assert entry(told(make_work(events=())), "cluster") == ""


def test_what_is_asked_around_a_trial_is_no_cost_of_it() -> None:
    assert "the slowest 4.00 ms" in entry(told(make_work()), "cost")


@pytest.mark.parametrize(
    ("requests", "limits", "text"),
    [
        (PodResources(), PodResources(), "BestEffort"),
        (PodResources(cpu_count=0.5), PodResources(), "BestEffort, 0.5 or more CPUs"),
        (PodResources(), PodResources(memory_bytes=GIB), "BestEffort, up to 1.00 GiB"),
        (
            PodResources(),
            PodResources(cpu_count=2.0, huge_pages_bytes=GIB),
            "BestEffort, up to 2 CPUs, 1.00 GiB of huge pages",
        ),
    ],
)
def test_requests_and_limits_are_told_as_a_span(
    requests: PodResources, limits: PodResources, text: str
) -> None:
    pod = make_pod(qos="BestEffort", requests=requests, limits=limits, cpuset=None)

    assert pod_text(pod) == text


def test_a_volume_of_which_only_the_claim_is_known_is_called_by_that() -> None:
    bare = make_volume(class_name=None, size_bytes=None, provisioner=None, parameters=())

    assert volume_text(bare) == "data-pg-0"
    assert volume_text(make_volume(mount_options=("noatime",))).endswith(", mounted noatime")


def test_several_generators_are_the_load() -> None:
    facts = make_cluster(generator_nodes=(LOAD_NODE, LOAD_NODE, "third"))

    assert load_text(facts) == f"3 pods on {LOAD_NODE}, third"
    assert load_text(make_cluster(client=None)) == ""


def test_a_container_of_an_unknown_quota_tells_what_it_burnt() -> None:
    bare = msgspec.structs.replace(
        make_container("pg-0", 0.0), period_count=None, throttled_count=None
    )

    assert entry(told(make_work(server=bare)), "pod").startswith("burnt 3.61 cores; memory")
