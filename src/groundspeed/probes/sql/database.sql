-- groundspeed probe: counters of the database under test
SELECT xact_commit AS commit_count,
       xact_rollback AS rollback_count,
       blks_hit AS block_hit_count,
       blks_read AS block_read_count,
       CASE WHEN current_setting('track_io_timing') = 'on' THEN blk_read_time / 1000 END
           AS block_read_s,
       CASE WHEN current_setting('track_io_timing') = 'on' THEN blk_write_time / 1000 END
           AS block_write_s,
       temp_files AS temp_file_count,
       temp_bytes,
       deadlocks AS deadlock_count,
       conflicts AS conflict_count
FROM pg_stat_database
WHERE datname = current_database()
