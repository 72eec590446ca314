-- groundspeed probe: nothing to ask for; counters of this session travel on their own
SELECT NULL
