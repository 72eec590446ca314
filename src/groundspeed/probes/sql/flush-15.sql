-- groundspeed probe: have the counters of this session written when this statement ends
SELECT pg_stat_force_next_flush()::text
