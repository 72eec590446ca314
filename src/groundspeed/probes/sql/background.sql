-- groundspeed probe: the server's own processes
SELECT pid, backend_type
FROM pg_stat_get_activity(NULL)
WHERE backend_type NOT IN ('client backend', 'parallel worker')
