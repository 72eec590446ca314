-- groundspeed probe: tables that anyone ever used; which of them a trial touched shows the growth
SELECT relid::int8 AS id,
       schemaname || '.' || relname AS name,
       0 AS size_bytes,
       coalesce(seq_scan, 0) AS sequential_scan_count,
       coalesce(idx_scan, 0) AS index_scan_count,
       n_tup_ins AS insert_count,
       n_tup_upd AS update_count,
       n_tup_hot_upd AS hot_update_count,
       n_tup_del AS delete_count,
       n_dead_tup AS dead_row_count,
       autovacuum_count
FROM pg_stat_user_tables
WHERE coalesce(seq_scan, 0) + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del > 0
