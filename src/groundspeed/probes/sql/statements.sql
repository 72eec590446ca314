-- groundspeed probe: statements without their texts, which would be read from a file
SELECT queryid AS id,
       '' AS query,
       sum(calls)::int8 AS call_count,
       sum(total_exec_time) / 1000 AS elapsed_s,
       sum(shared_blks_read)::int8 AS block_read_count,
       sum(wal_bytes)::int8 AS wal_bytes
FROM pg_stat_statements(false)
WHERE dbid = %(database)s::oid AND queryid IS NOT NULL
GROUP BY queryid
