-- groundspeed probe: what is counted each second
SELECT CASE WHEN NOT pg_is_in_recovery()
            THEN pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8
       END AS wal_position_bytes,
       pg_stat_get_db_blocks_fetched(%(database)s::oid) - pg_stat_get_db_blocks_hit(%(database)s::oid)
           AS block_read_count,
       num_timed AS timed_count,
       num_requested AS requested_count,
       buffers_written AS buffer_count,
       (write_time + sync_time)::float8 / 1000 AS work_s
FROM pg_stat_checkpointer
