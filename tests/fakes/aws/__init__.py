"""AWS on loopback: strict servers of the services that costguard calls, on AWS's own wire protocols."""
