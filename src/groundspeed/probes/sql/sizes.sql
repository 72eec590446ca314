-- groundspeed probe: sizes of tables with their indexes; none for a table that is gone by now
SELECT id, pg_total_relation_size(id::oid) AS size_bytes
FROM unnest(%(tables)s::int8[]) AS id
