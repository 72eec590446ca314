-- groundspeed probe: how far the slowest standby is behind
SELECT max(pg_wal_lsn_diff(
           CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END, replay_lsn
       ))::int8 AS replication_lag_bytes
FROM pg_stat_replication
