from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundspeed import presets, spec
from groundspeed.errors import ExitCode, SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

GOOD = """\
suite: s
environments:
  disk: {target: embedded, storage: {directory: ./d}}
  given: {target: server, dsn: "postgresql://u:s3cret@h/db"}
"""


def complaints(text: str, overrides: Sequence[str] = ()) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        spec.load_suite(text, source="s.yaml", overrides=overrides)
    assert caught.value.exit_code is ExitCode.SPEC
    return [(caught.value.message, caught.value.hint), *caught.value.further]


def environment(yaml: str) -> str:
    return f"suite: s\nenvironments:\n  disk: {yaml}\n"


SEE = "see docs/suite.md or groundspeed schema"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "not a suite", "a suite file starts with  suite: NAME"),
        ("[1, 2]", "not a suite", "a suite file starts with  suite: NAME"),
        ("suite: s", "environments: missing", "add the key 'environments'"),
        (GOOD + "scael: 5", "scael: no such key", "did you mean 'scale'?"),
        (
            GOOD + "measure: {durtion: 1s}",
            "measure.durtion: no such key",
            "did you mean 'duration'?",
        ),
        (
            environment("{target: embedded, storage: {dirctory: a}}"),
            "environments.disk.storage.dirctory: no such key",
            "did you mean 'directory'?",
        ),
        (
            environment("{target: embedded, storage: {directory: a}, verison: 16}"),
            "environments.disk.verison: no such key",
            "did you mean 'version'?",
        ),
        (
            environment("{target: server, dsn: 'host=h', pasword_env: X}"),
            "environments.disk.pasword_env: no such key",
            "did you mean 'password_env'?",
        ),
        (
            environment("{target: embedded, storage: {directory: a}, q: 1}"),
            "environments.disk.q: no such key",
            (
                "known here: target, storage, version, bin_dir, settings, options, replica,"
                " listen, memory"
            ),
        ),
        (
            environment("{target: embeded, storage: {directory: x}}"),
            "environments.disk: no target 'embeded'",
            "did you mean 'embedded'?",
        ),
        (
            environment("{storage: {directory: x}}"),
            "environments.disk: target is missing",
            "write target: embedded or target: server or target: kubernetes",
        ),
        (
            environment("{target: embedded}"),
            "environments.disk.storage: missing",
            "add the key 'storage'",
        ),
        (environment("{target: server}"), "environments.disk.dsn: missing", "add the key 'dsn'"),
        (
            environment("{target: server, dsn: '', password: x}"),
            "environments.disk: takes no password",
            "put the name of an environment variable in password_env",
        ),
        (
            environment("{target: server, dsn: 'host=h sslpassword=x'}"),
            "environments.disk: has sslpassword in its dsn",
            "use a key file without a passphrase",
        ),
        (
            environment("{target: embedded, storage: {}}"),
            "environments.disk.storage: needs either directory or emulate",
            SEE,
        ),
        (
            environment("{target: embedded, storage: {emulate: b, wal_directory: c}}"),
            "environments.disk.storage: takes no wal_directory with emulate",
            "the log lies on the emulated device too",
        ),
        (
            environment("{target: embedded, storage: {directory: a, emulate: null}}"),
            "environments.disk.storage: has an empty emulate",
            'name a profile; the one called null is written "null"',
        ),
        (
            environment("{target: embedded, storage: {directory: a, provision: {iops: 4000}}}"),
            "environments.disk.storage: takes provision only with emulate",
            "name the profile that is provisioned",
        ),
        (
            environment("{target: embedded, storage: {emulate: b, provision: {iops: [1]}}}"),
            "environments.disk.storage.provision.iops: not a value",
            "write text, a number, true or false",
        ),
        (
            environment("{target: embedded, storage: {emulate: [b]}}"),
            "environments.disk.storage.emulate: not text",
            "write text, in quotes where it looks like a number",
        ),
        (
            environment("{target: embedded, storage: {directory: a}, memory: 8GiB}"),
            "environments.disk: takes memory only with storage.emulate",
            "this machine has the memory it has",
        ),
        (
            environment("{target: embedded, storage: {emulate: b}, memory: 8}"),
            "environments.disk.memory: needs a unit, as in 8GiB",
            SEE,
        ),
        (
            environment("{target: embedded, storage: {emulate: b}, memory: 8GHz}"),
            "environments.disk.memory: '8GHz' is not a size",
            "write a number and one of B, kB, KB, MB, GB, TB, KiB, MiB, GiB, TiB, as in 8GiB",
        ),
        (
            environment("{target: embedded, storage: {directory: a}, listen: tcp}"),
            "environments.disk.listen: 'tcp' is not known",
            "write one of socket, loopback",
        ),
        (
            GOOD + "measure: {duration: 60}",
            "measure.duration: needs a unit, as in 30s",
            SEE,
        ),
        (
            GOOD + "measure: {duration: 60 sec}",
            "measure.duration: '60 sec' is not a duration",
            "write a number and one of us, µs, ms, s, min, m, h, as in 30s",
        ),
        (
            GOOD + "measure: {duration: 1.5s}",
            "measure.duration: must be a whole number of seconds, at least 1s",
            "pgbench -T takes no other",
        ),
        (
            GOOD + "measure: {until: decided, repeats: 3}",
            "measure: takes no repeats with until",
            "at_most bounds it, leave repeats out",
        ),
        (
            GOOD + "measure: {until: decided, duration: 10s}",
            "measure: takes no duration with until",
            "slice bounds it, leave duration out",
        ),
        (
            GOOD + "measure: {margin: 3%}",
            "measure: takes margin only with until",
            "write until: decided, or leave margin out",
        ),
        (
            environment("{target: embedded, storage: {directory: a}}")
            + "measure: {until: decided}\n",
            "suite: needs two environments to decide between",
            "name another one",
        ),
        (
            GOOD + "measure: {until: decidd}",
            "measure.until: 'decidd' is not known",
            "did you mean 'decided'?",
        ),
        (
            GOOD + "measure: {until: decided, margin: 3}",
            "measure.margin: needs a unit, as in 3%",
            SEE,
        ),
        (
            GOOD + "measure: {until: decided, margin: 3 percent}",
            "measure.margin: '3 percent' is not a share",
            "write it as in 3%",
        ),
        (
            GOOD + "measure: {until: decided, slice: 1.5s}",
            "measure.slice: must be a whole number of seconds, at least 1s",
            "pgbench -T takes no other",
        ),
        (
            GOOD + "measure: {until: decided, slice: 2}",
            "measure.slice: needs a unit, as in 2s, or is auto",
            SEE,
        ),
        (
            GOOD + "measure: {until: decided, slice: often}",
            "measure.slice: 'often' is not a duration",
            "write a number and one of us, µs, ms, s, min, m, h, as in 30s",
        ),
        (
            GOOD + "pgbench: {rate: 500/x}",
            "pgbench.rate: '500/x' is not a rate",
            "write a number and /s or /min, as in 500/s",
        ),
        (
            GOOD + "pgbench: {protocol: prepard}",
            "pgbench.protocol: 'prepard' is not known",
            "did you mean 'prepared'?",
        ),
        (GOOD + "clients: [1, 1]", "clients: names a value twice", SEE),
        (GOOD + "threads: client", "threads: 'client' is not known", "did you mean 'clients'?"),
        (GOOD + "threads: [2, 2]", "threads: names a value twice", SEE),
        (
            GOOD + "threads: [8]\nclients: [1]",
            "suite: has more threads than clients in every combination",
            "pgbench would refuse it",
        ),
        (
            GOOD + "workloads: [tpcb-like, tpcb-like]",
            "suite: has two workloads named 'tpcb-like'",
            SEE,
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_its_path(text: str, message: str, hint: str) -> None:
    assert complaints(text) == [(f"s.yaml: {message}", hint)]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (GOOD + "workloads: [tcpb-like]", "workloads.0: 'tcpb-like' is not known", "tpcb-like"),
        (GOOD + "workloads: [{script: x.sql}]", "workloads.0.name: missing", "'name'"),
        (
            GOOD + "workloads: [{script: x, name: a, write: true}]",
            "workloads.0.write: no such key",
            "'writes'",
        ),
        (GOOD + "clients: [0]", "clients.0: input should be greater than or equal to 1", ""),
        (GOOD + "threads: [a]", "threads.0: not a whole number", ""),
    ],
)
def test_a_mistake_inside_a_list_names_its_place(text: str, message: str, hint: str) -> None:
    first = complaints(text)[0]
    assert first[0] == f"s.yaml: {message}"
    assert hint in first[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("suite: a\nsuite: b\n", "s.yaml:2:1: the key 'suite' is written twice"),
        ("suite: [", "s.yaml:1:9: expected the node content, but found '<stream end>'"),
    ],
)
def test_yaml_that_is_none_is_told_with_line_and_column(text: str, message: str) -> None:
    assert complaints(text) == [(message, "mend the YAML at that place")]


def test_all_mistakes_are_told_at_once() -> None:
    found = complaints(GOOD + "scael: 5\npgbench: {protocl: simple}\n")
    assert {message for message, _ in found} == {
        "s.yaml: scael: no such key",
        "s.yaml: pgbench.protocl: no such key",
    }


@pytest.mark.parametrize(
    ("override", "message", "hint"),
    [
        ("scale", "--set scale: not an assignment", "write key=value"),
        ("=3", "--set : not an assignment", "write key=value"),
        ("suite.x=1", "--set suite.x: there is nothing to set below it", "groundspeed schema"),
        ("mesure.duration=2s", "s.yaml: mesure: no such key", "did you mean 'measure'?"),
        ("environments.given.password=x", "a password on the command line", "password_env"),
        (
            "environments.given.dsn=postgresql://u:pw@h/",
            "a password on the command line",
            "password_env",
        ),
    ],
)
def test_a_wrong_override_is_told(override: str, message: str, hint: str) -> None:
    [(told, told_hint)] = complaints(GOOD, [override])
    assert message in told
    assert hint in told_hint
    assert "pw" not in told + told_hint.replace("password", "")


def test_overrides_are_read_as_yaml() -> None:
    suite = spec.load_suite(
        GOOD,
        source="s.yaml",
        overrides=[
            "measure.duration=2s",
            "clients=[2, 4]",
            "threads=clients",
            "postgres.settings.x=on",
        ],
    )
    assert suite.measure.duration == 2.0
    assert suite.clients == (2, 4)
    assert suite.threads == "clients"
    assert suite.postgres.settings == {"x": True}


def test_a_password_in_a_dsn_is_taken_out_and_never_shown() -> None:
    suite = spec.load_suite(GOOD, source="s.yaml")
    given_server = suite.environments["given"]
    assert isinstance(given_server, spec.ServerEnvironment)
    assert given_server.password is not None
    assert given_server.password.get_secret_value() == "s3cret"
    assert "s3cret" not in repr(suite) + suite.model_dump_json() + given_server.dsn


def test_a_dsn_that_cannot_be_read_is_not_repeated() -> None:
    found = complaints(environment("{target: server, dsn: 'postgresql://u:s3cret@[::1/db'}"))
    assert "s3cret" not in repr(found)
    assert "libpq cannot read" in found[0][0]


def test_the_schema_is_json_and_knows_no_password() -> None:
    text = json.dumps(spec.json_schema())
    assert '"password":' not in text
    assert json.loads(text)["$schema"].endswith("2020-12/schema")


def test_what_decides_early_has_defaults_of_its_own() -> None:
    measure = spec.load_suite(GOOD + "measure: {until: decided}", source="s.yaml").measure
    assert (measure.margin, measure.slice, measure.at_most) == (0.03, "auto", 1800.0)
    assert measure.warm_up == 0.0
    assert spec.load_suite(GOOD, source="s.yaml").measure.warm_up == 5.0


def test_what_decides_early_can_be_set() -> None:
    text = "measure: {until: decided, margin: 1.5%, slice: 3s, at_most: 1.5h, warm_up: 1s}"
    measure = spec.load_suite(GOOD + text, source="s.yaml").measure
    assert (measure.margin, measure.slice, measure.at_most) == (0.015, 3.0, 5400.0)
    assert measure.warm_up == 1.0


def test_the_schema_writes_margin_and_slice_as_a_file_does() -> None:
    described = spec.json_schema()["$defs"]["Measure"]["properties"]
    assert re.fullmatch(described["margin"]["pattern"], described["margin"]["default"])
    word, text = described["slice"]["anyOf"]
    assert word["const"] == described["slice"]["default"]
    assert re.fullmatch(text["pattern"], "2s")


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("{}", "full"),
        ("{probes: off}", "off"),
        ("{probes: 'off'}", "off"),
        ("{probes: light}", "light"),
    ],
)
def test_probes_have_a_level_and_a_bare_off_is_one(text: str, level: str) -> None:
    suite = spec.load_suite(f"{GOOD}measure: {text}\n", source="s.yaml")
    assert suite.measure.probes == level


def test_an_unknown_level_is_told() -> None:
    found = complaints(GOOD + "measure: {probes: lihgt}")
    assert found == [("s.yaml: measure.probes: 'lihgt' is not known", "did you mean 'light'?")]
    assert complaints(GOOD + "measure: {probes: on}")[0][1] == "write one of off, light, full"


@pytest.mark.parametrize(
    ("line", "vary"),
    [
        ("", None),
        ("vary: storage", ("storage",)),
        ("vary: [storage, memory]", ("storage", "memory")),
        ("vary: []", ()),
        ("vary: settings.huge_pages", ("settings.huge_pages",)),
    ],
)
def test_what_varies_is_a_word_a_list_or_not_declared(
    line: str, vary: tuple[str, ...] | None
) -> None:
    assert spec.load_suite(GOOD + line, source="s.yaml").vary == vary


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("vary: storge", "vary.0: 'storge' is not known", "did you mean 'storage'?"),
        ("vary: [cpu, hots]", "vary.1: 'hots' is not known", "did you mean 'host'?"),
        (
            "vary: settings.Huge",
            "vary.0: 'settings.Huge' names no setting",
            "write settings.NAME in lower case",
        ),
        ("vary: [cpu, cpu]", "vary: names a value twice", SEE),
        ("vary: 5", "vary: not a list", "write a list, as in [1, 8]"),
    ],
)
def test_a_wrong_word_in_what_varies_is_told(line: str, message: str, hint: str) -> None:
    assert complaints(GOOD + line) == [(f"s.yaml: {message}", hint)]


def test_the_schema_takes_a_word_or_a_list_of_what_varies() -> None:
    described = spec.json_schema()["properties"]["vary"]
    word, words, nothing = described["anyOf"]
    assert "storage" in word["anyOf"][0]["enum"]
    assert re.fullmatch(word["anyOf"][1]["pattern"], "settings.huge_pages")
    assert words["items"] == word
    assert nothing == {"type": "null"}


KEYS = {
    "": [name for name in spec.Suite.model_fields if name != "suite"],
    "measure": list(spec.Measure.model_fields),
    "pgbench": list(spec.Pgbench.model_fields),
    "postgres": list(spec.Postgres.model_fields),
}


@st.composite
def typos(draw: st.DrawFn) -> tuple[str, str, str]:
    """Draw a section, one of its keys, and the key with two neighbours swapped or one left out."""
    section = draw(st.sampled_from(sorted(KEYS)))
    key = draw(st.sampled_from(KEYS[section]))
    place = draw(st.integers(min_value=0, max_value=len(key) - 2))
    if draw(st.booleans()):
        typo = key[:place] + key[place + 1] + key[place] + key[place + 2 :]
    else:
        typo = key[:place] + key[place + 1 :]
    return section, key, typo


@given(typos())
def test_a_typo_in_a_key_suggests_the_right_one(drawn: tuple[str, str, str]) -> None:
    section, key, typo = drawn
    # The three-letter remains of "seed" and "rate" are too little to be recognised, or another key.
    assume(typo not in KEYS[section] and len(typo) > 3)
    body = {typo: 1} if not section else {section: {typo: 1}}
    text = GOOD + "\n".join(f"{k}: {json.dumps(v)}" for k, v in body.items())
    path = f"{section}.{typo}" if section else typo
    assert (f"s.yaml: {path}: no such key", f"did you mean {key!r}?") in complaints(text)


@pytest.mark.parametrize("name", presets.names())
def test_presets_are_suites(name: str) -> None:
    suite = spec.load_suite(presets.read(name), source=name)
    assert suite.suite == name
    assert suite.description
