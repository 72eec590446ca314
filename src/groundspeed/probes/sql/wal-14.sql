-- groundspeed probe: the write-ahead log
SELECT wal_records AS record_count,
       wal_fpi AS full_page_count,
       wal_bytes::int8 AS bytes,
       wal_buffers_full AS buffers_full_count,
       wal_write AS write_count,
       wal_sync AS sync_count,
       CASE WHEN current_setting('track_wal_io_timing') = 'on' THEN wal_write_time / 1000 END
           AS write_s,
       CASE WHEN current_setting('track_wal_io_timing') = 'on' THEN wal_sync_time / 1000 END
           AS sync_s
FROM pg_stat_wal
