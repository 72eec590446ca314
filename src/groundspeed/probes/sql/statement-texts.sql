-- groundspeed probe: texts of some statements
SELECT queryid AS id, min(query) AS query
FROM pg_stat_statements
WHERE dbid = %(database)s::oid AND queryid = ANY(%(ids)s)
GROUP BY queryid
