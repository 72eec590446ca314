-- groundspeed probe: the write-ahead log; its writes and syncs moved to pg_stat_io
SELECT w.wal_records AS record_count,
       w.wal_fpi AS full_page_count,
       w.wal_bytes::int8 AS bytes,
       w.wal_buffers_full AS buffers_full_count,
       i.write_count,
       i.sync_count,
       CASE WHEN current_setting('track_wal_io_timing') = 'on' THEN i.write_s END AS write_s,
       CASE WHEN current_setting('track_wal_io_timing') = 'on' THEN i.sync_s END AS sync_s
FROM pg_stat_wal AS w
CROSS JOIN (
    SELECT sum(writes)::int8 AS write_count,
           sum(fsyncs)::int8 AS sync_count,
           sum(write_time)::float8 / 1000 AS write_s,
           sum(fsync_time)::float8 / 1000 AS sync_s
    FROM pg_stat_io
    WHERE object = 'wal'
) AS i
