-- groundspeed probe: who is at work at this moment, and what each waits for
-- The function below pg_stat_activity: the view joins two catalogues for names that are not needed.
-- Other people's sessions have no backend_type where the role may not see them; those are "hidden".
SELECT CASE WHEN backend_type IN ('client backend', 'parallel worker') THEN 0 ELSE pid END AS pid,
       CASE WHEN backend_type IN ('client backend', 'parallel worker') THEN ''
            ELSE coalesce(backend_type, 'hidden') END AS backend_type,
       coalesce(wait_event_type, 'CPU') AS wait_class,
       coalesce(wait_event, '') AS event,
       CASE WHEN backend_type = 'autovacuum worker' THEN query ELSE '' END AS task,
       count(*) AS session_count
FROM pg_stat_get_activity(NULL)
WHERE pid <> pg_backend_pid()
  AND CASE
      WHEN backend_type IN ('client backend', 'parallel worker') THEN
          datid = %(database)s::oid AND state = 'active'
          AND wait_event IS DISTINCT FROM 'ClientRead'
          AND starts_with(application_name, 'groundspeed') IS NOT TRUE
      WHEN backend_type IS NULL THEN
          datid = %(database)s::oid AND starts_with(application_name, 'groundspeed') IS NOT TRUE
      -- Activity is the idle loop of the server's processes, Extension that of an extension's.
      ELSE coalesce(wait_event_type, 'CPU') NOT IN ('Activity', 'Extension')
      END
GROUP BY 1, 2, 3, 4, 5
