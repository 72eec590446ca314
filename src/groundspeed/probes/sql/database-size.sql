-- groundspeed probe: size of the database under test
SELECT pg_database_size(current_database()) AS database_bytes
