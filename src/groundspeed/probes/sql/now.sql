-- groundspeed probe: the server's clock
SELECT clock_timestamp() AS now
