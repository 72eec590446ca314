-- groundspeed probe: reads and writes by who, of what and for what; an operation may be of several
-- blocks, so bytes are counted apart, and the log's have a switch for timing of their own
SELECT backend_type, object, context,
       coalesce(reads, 0) AS read_count,
       coalesce(read_bytes, 0)::int8 AS read_bytes,
       coalesce(writes, 0) AS write_count,
       coalesce(write_bytes, 0)::int8 AS write_bytes,
       coalesce(extends, 0) AS extend_count,
       coalesce(hits, 0) AS hit_count,
       coalesce(evictions, 0) AS eviction_count,
       coalesce(fsyncs, 0) AS sync_count,
       CASE WHEN is_timed THEN read_time / 1000 END AS read_s,
       CASE WHEN is_timed THEN write_time / 1000 END AS write_s,
       CASE WHEN is_timed THEN fsync_time / 1000 END AS sync_s
FROM pg_stat_io
CROSS JOIN LATERAL (
    SELECT current_setting(
        CASE object WHEN 'wal' THEN 'track_wal_io_timing' ELSE 'track_io_timing' END
    ) = 'on' AS is_timed
) AS timing
