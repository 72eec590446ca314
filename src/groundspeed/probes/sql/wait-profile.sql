-- groundspeed probe: waits that pg_wait_sampling counted, by process
SELECT pid, coalesce(event_type, 'CPU') AS wait_class, coalesce(event, '') AS event,
       sum(count)::int8 AS sample_count
FROM pg_wait_sampling_profile
GROUP BY 1, 2, 3
