-- groundspeed probe: whether clients are gone, and the file of the statistics collector is newer
SELECT NOT EXISTS (
           SELECT FROM pg_stat_get_activity(NULL)
           WHERE datid = %(database)s::oid AND pid <> pg_backend_pid()
             AND coalesce(backend_type, 'client backend') = 'client backend'
             AND starts_with(application_name, 'groundspeed') IS NOT TRUE
       )
       AND pg_stat_get_snapshot_timestamp() > %(since)s AS is_settled
