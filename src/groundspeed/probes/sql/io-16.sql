-- groundspeed probe: reads and writes by who, of what and for what; every operation is of op_bytes
SELECT backend_type, object, context,
       coalesce(reads, 0) AS read_count,
       coalesce(reads * op_bytes, 0) AS read_bytes,
       coalesce(writes, 0) AS write_count,
       coalesce(writes * op_bytes, 0) AS write_bytes,
       coalesce(extends, 0) AS extend_count,
       coalesce(hits, 0) AS hit_count,
       coalesce(evictions, 0) AS eviction_count,
       coalesce(fsyncs, 0) AS sync_count,
       CASE WHEN current_setting('track_io_timing') = 'on' THEN read_time / 1000 END AS read_s,
       CASE WHEN current_setting('track_io_timing') = 'on' THEN write_time / 1000 END AS write_s,
       CASE WHEN current_setting('track_io_timing') = 'on' THEN fsync_time / 1000 END AS sync_s
FROM pg_stat_io
