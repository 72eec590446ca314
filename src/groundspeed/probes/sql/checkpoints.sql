-- groundspeed probe: checkpoints, and who wrote dirty buffers
SELECT checkpoints_timed AS timed_count,
       checkpoints_req AS requested_count,
       checkpoint_write_time / 1000 AS write_s,
       checkpoint_sync_time / 1000 AS sync_s,
       buffers_checkpoint AS buffer_count,
       buffers_clean AS cleaned_buffer_count,
       maxwritten_clean AS stopped_clean_count,
       buffers_alloc AS allocated_buffer_count,
       buffers_backend AS backend_buffer_count,
       buffers_backend_fsync AS backend_sync_count
FROM pg_stat_bgwriter
