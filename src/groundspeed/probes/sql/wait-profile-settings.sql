-- groundspeed probe: whether the profile of pg_wait_sampling tells all that is needed
SELECT current_setting('pg_wait_sampling.sample_cpu', true) AS samples_cpu,
       current_setting('pg_wait_sampling.profile_pid', true) AS profiles_processes
