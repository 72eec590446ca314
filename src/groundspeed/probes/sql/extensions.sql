-- groundspeed probe: extensions that know more, and the schema each is in
SELECT e.extname AS name, quote_ident(n.nspname) AS schema
FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname IN ('pg_stat_statements', 'pg_wait_sampling')
