"""What no server in Kubernetes can have, though each part of it could be asked for alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import SpecError
from groundspeed.plan.kubernetes import ClusterKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.plan.kubernetes import ClusterRequest, VolumeRequest
    from groundspeed.plan.parts import EnvironmentPlan

# Where a server is reached and where its files are is the run's to say.
_OURS = frozenset(
    {
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "logging_collector",
        "port",
        "unix_socket_directories",
        "unix_socket_group",
        "unix_socket_permissions",
    }
)
# Fixed by CloudNativePG 1.29 (pkg/postgres/configuration.go), but for archive_mode off and
# shared_preload_libraries, which a Cluster has in places of their own.
_OPERATORS = frozenset(
    {
        "allow_system_table_mods",
        "archive_cleanup_command",
        "archive_command",
        "bonjour",
        "bonjour_name",
        "cluster_name",
        "data_sync_retry",
        "event_source",
        "hot_standby",
        "jit_provider",
        "log_destination",
        "log_directory",
        "log_file_mode",
        "log_filename",
        "log_rotation_age",
        "log_rotation_size",
        "log_truncate_on_rotation",
        "pg_failover_slots.primary_dsn",
        "pg_failover_slots.standby_slot_names",
        "primary_conninfo",
        "primary_slot_name",
        "promote_trigger_file",
        "recovery_end_command",
        "recovery_min_apply_delay",
        "recovery_target",
        "recovery_target_action",
        "recovery_target_inclusive",
        "recovery_target_lsn",
        "recovery_target_name",
        "recovery_target_time",
        "recovery_target_timeline",
        "recovery_target_xid",
        "restart_after_crash",
        "restore_command",
        "ssl",
        "ssl_ca_file",
        "ssl_cert_file",
        "ssl_crl_file",
        "ssl_dh_params_file",
        "ssl_ecdh_curve",
        "ssl_key_file",
        "ssl_passphrase_command",
        "ssl_passphrase_command_supports_reload",
        "ssl_prefer_server_ciphers",
        "stats_temp_directory",
        "synchronized_standby_slots",
        "synchronous_standby_names",
        "syslog_facility",
        "syslog_ident",
        "syslog_sequence_numbers",
        "syslog_split_messages",
        "temp_tablespaces",
    }
)


def refused_settings(
    kind: ClusterKind, settings: Sequence[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """List settings that a server made so cannot have, each with what to do."""
    ours = "leave it out: where the server is and how it is reached belongs to the run"
    theirs = "leave it out, or make the server with cluster: postgres"
    found = []
    for name, value in ((name.lower(), value) for name, value in settings):
        if name in _OURS:
            found.append((f"the setting {name} belongs to groundspeed", ours))
        elif kind is ClusterKind.CNPG and _is_fixed(name, value):
            found.append((f"the setting {name} is fixed by CloudNativePG", theirs))
    return tuple(found)


def _is_fixed(name: str, value: str) -> bool:
    return name in _OPERATORS or (name == "archive_mode" and value.lower() not in {"on", "off"})


def refuse(environments: Sequence[EnvironmentPlan]) -> None:
    """Raise SpecError, all in one, for settings and local directories that cannot be."""
    found = [*_setting_complaints(environments), *_directory_complaints(environments)]
    if found:
        raise SpecError(*found[0], further=tuple(found[1:]))


def _setting_complaints(environments: Sequence[EnvironmentPlan]) -> Iterator[tuple[str, str]]:
    for environment in environments:
        if environment.cluster is None:
            continue
        for what, hint in refused_settings(environment.cluster.kind, environment.settings):
            yield f"environments.{environment.name}: {what}", hint


def _directory_complaints(environments: Sequence[EnvironmentPlan]) -> Iterator[tuple[str, str]]:
    """Complain of directories in each other: each mount gives all that is inside to its server."""
    seen: list[tuple[str, VolumeRequest]] = []
    for environment in environments:
        for volume in local_volumes(environment.cluster):
            for name, other in seen:
                if _overlap(volume, other):
                    what = f"environments.{environment.name}: {volume.path} on {volume.node}"
                    hint = "give each volume a directory of its own, as in two on the same disk"
                    yield f"{what} is also where {name} has a volume", hint
            seen.append((environment.name, volume))


def local_volumes(cluster: ClusterRequest | None) -> tuple[VolumeRequest, ...]:
    """List volumes of a server that are directories of a node."""
    asked = () if cluster is None else (cluster.volume, cluster.wal_volume)
    return tuple(volume for volume in asked if volume is not None and volume.path is not None)


def _overlap(one: VolumeRequest, other: VolumeRequest) -> bool:
    if one.node != other.node:
        return False
    paths = [f"{(volume.path or '').rstrip('/')}/" for volume in (one, other)]
    return paths[0].startswith(paths[1]) or paths[1].startswith(paths[0])
