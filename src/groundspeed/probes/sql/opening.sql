-- groundspeed probe: what stays the same while a server runs
SELECT d.oid::int8 AS database_id,
       pg_backend_pid() AS own_pid,
       (SELECT setting::int8 FROM pg_settings WHERE name = 'wal_segment_size')
           AS wal_segment_bytes,
       pg_size_bytes(current_setting('shared_buffers')) AS shared_buffers_bytes,
       current_setting('max_connections')::int AS max_connections_count,
       -- These two are not known to every version.
       current_setting('huge_pages_status', true) AS huge_pages_status,
       coalesce(current_setting('track_wal_io_timing', true), 'off') = 'on' AS times_wal,
       current_setting('data_checksums') AS data_checksums,
       current_setting('track_io_timing') = 'on' AS times_io,
       current_setting('track_counts') = 'on' AS counts_tables,
       pg_has_role('pg_read_all_stats', 'USAGE') AS sees_all,
       (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS is_encrypted
FROM pg_database AS d
WHERE d.datname = current_database()
