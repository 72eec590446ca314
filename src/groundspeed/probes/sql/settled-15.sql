-- groundspeed probe: whether clients are gone; they leave their counters in shared memory
SELECT NOT EXISTS (
           SELECT FROM pg_stat_get_activity(NULL)
           WHERE datid = %(database)s::oid AND pid <> pg_backend_pid()
             AND coalesce(backend_type, 'client backend') = 'client backend'
             AND starts_with(application_name, 'groundspeed') IS NOT TRUE
       ) AS is_settled
