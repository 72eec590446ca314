-- groundspeed probe: checkpoints, and who wrote dirty buffers; backends' own writes moved to
-- pg_stat_io
SELECT c.num_timed AS timed_count,
       c.num_requested AS requested_count,
       c.write_time / 1000 AS write_s,
       c.sync_time / 1000 AS sync_s,
       c.buffers_written AS buffer_count,
       b.buffers_clean AS cleaned_buffer_count,
       b.maxwritten_clean AS stopped_clean_count,
       b.buffers_alloc AS allocated_buffer_count,
       i.write_count AS backend_buffer_count,
       i.sync_count AS backend_sync_count
FROM pg_stat_checkpointer AS c
CROSS JOIN pg_stat_bgwriter AS b
CROSS JOIN (
    SELECT sum(writes)::int8 AS write_count, sum(fsyncs)::int8 AS sync_count
    FROM pg_stat_io
    WHERE backend_type = 'client backend' AND object = 'relation'
) AS i
