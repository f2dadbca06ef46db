"""Alibaba Cloud on loopback: strict servers of the services that costguard calls, on the RPC wire protocol."""
