"""fio's job files and JSON, against captured output of a real one."""

from __future__ import annotations

import configparser

import pytest

from groundspeed.tools import fio
from groundspeed.tools.fio import Access, Files, Job
from tests.golden import fio_output

FILES = Files(data_bytes=48 * 1024**2, log_bytes=16 * 1024**2, direct=True)


def job(name: str = "one", access: Access = Access.RANDOM_READ, **changes: object) -> Job:
    known = {"block_bytes": 8192, "depth_count": 4, "duration_s": 0.985, **changes}
    return Job(name=name, access=access, **known)  # type: ignore[arg-type]


def sections(*jobs: Job, files: Files = FILES) -> dict[str, dict[str, str]]:
    ((_, text),) = fio.command(jobs, files, seed=5).files
    parser = configparser.ConfigParser(allow_no_value=True)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_a_load_waits_for_the_one_before_and_reports_alone() -> None:
    told = sections(job("one"), job("two"))
    assert list(told) == ["global", "one", "two"]
    assert all("stonewall" in told[name] and "new_group" in told[name] for name in ("one", "two"))
    assert told["one"]["randseed"] != told["two"]["randseed"]


def test_depth_is_threads_that_wait() -> None:
    told = sections(job(depth_count=16))
    assert told["global"]["ioengine"] == "psync"
    assert told["one"]["numjobs"] == "16"
    assert told["one"]["runtime"] == "985ms"


def test_the_page_cache_is_passed_by_where_that_works() -> None:
    assert sections(job())["one"]["direct"] == "1"
    refused = Files(data_bytes=48 * 1024**2, log_bytes=16 * 1024**2, direct=False)
    assert sections(job(), files=refused)["one"]["direct"] == "0"


def test_a_database_writes_through_the_page_cache_and_waits_for_its_flush() -> None:
    told = sections(job(access=Access.WRITE, sync=True, depth_count=1))["one"]
    assert (told["direct"], told["fdatasync"], told["filename"]) == ("0", "1", fio.LOG_FILE)
    assert told["size"] == str(FILES.log_bytes)


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE, Access.BOTH])
def test_threads_in_order_go_through_stretches_that_do_not_overlap(access: Access) -> None:
    told = sections(job(access=access, depth_count=7, block_bytes=1024**2))["one"]
    assert told["size"] == told["offset_increment"]
    assert int(told["size"]) % 1024**2 == 0
    assert int(told["size"]) * 7 <= FILES.data_bytes


def test_files_are_written_not_preallocated() -> None:
    ((_, text),) = fio.fill_command(FILES).files
    assert "fallocate=none" in text
    assert f"size={FILES.data_bytes}" in text
    assert f"size={FILES.log_bytes}" in text


def test_a_real_block_is_read() -> None:
    output = fio.parse(fio_output.read("3.33-block.json"))
    assert output.version == "3.33"
    assert [r.name for r in output.results] == ["randread-d4", "mixed", "write-256k", "sync-write"]
    read, mixed, stream, sync = output.results
    assert read.read is not None
    assert read.write is None
    assert read.sync is None
    assert mixed.read is not None
    assert mixed.write is not None
    assert stream.write is not None
    assert stream.write.bytes_per_s == pytest.approx(stream.write.rate_per_s * 262144, rel=0.01)
    assert sync.sync is not None
    assert sync.write is not None
    # The write itself reaches the page cache only.
    assert sync.write.latency.mean_s < sync.sync.mean_s


def test_every_request_is_in_a_bin_between_the_extremes() -> None:
    for result in fio.parse(fio_output.read("3.33-block.json")).results:
        for told in (result.read, result.write):
            if told is None:
                continue
            latency = told.latency
            assert latency.count == sum(count for _, count in latency.bins_ns)
            weighed = sum(ns * count for ns, count in latency.bins_ns) / latency.count / 1e9
            assert weighed == pytest.approx(latency.mean_s, rel=1 / 64)
            assert latency.bins_ns[0][0] / 1e9 >= latency.min_s * (1 - 1 / 64)
            assert latency.bins_ns[-1][0] / 1e9 <= latency.max_s * (1 + 1 / 64)


def test_notes_before_the_json_are_passed_over() -> None:
    text = "fio: pid=1, err=28/file:io_u.c:1876\nnote: something\n"
    assert fio.parse(text + fio_output.read("3.33-block.json")).version == "3.33"


@pytest.mark.parametrize("text", ["", "fio: bad option\n", '{\n"jobs": [', '{\n"jobs": []\n}'])
def test_what_is_no_output_of_fio_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="fio"):
        fio.parse(text)


def test_a_job_that_failed_is_refused() -> None:
    text = fio_output.read("3.33-block.json").replace('"error" : 0', '"error" : 5', 1)
    with pytest.raises(ValueError, match="randread-d4 failed with error 5"):
        fio.parse(text)


def test_a_full_disk_is_told_in_one_line() -> None:
    assert "No space left on device" in fio.error_line(fio_output.read("3.33-full.txt"))


def test_a_rate_log_is_added_up_over_threads() -> None:
    one = job("long", window_s=0.1)
    rates = fio.parse_log(fio_output.read("3.33-iops.log"), one)
    rows = [line.split(",") for line in fio_output.read("3.33-iops.log").splitlines()]
    first = sum(int(row[1]) for row in rows if abs(int(row[0]) - 100) < 50)
    assert rates[0] == first
    assert len(rates) == 9
    assert min(rates) > 0


def test_a_thread_without_a_line_did_nothing_and_a_late_look_is_a_mean() -> None:
    one = job("long", window_s=0.1, depth_count=2, duration_s=0.585)
    lines = ("100, 10, 0", "301, 20, 0", "500, 7, 0", "101, 30, 0", "302, 5, 0", "401, 6, 0")
    assert fio.parse_log("\n".join(lines), one) == (40.0, 25.0, 25.0, 6.0, 7.0)
    assert fio.parse_log("", one) == ()
    with pytest.raises(ValueError, match="keeps no log"):
        fio.parse_log("", job())
