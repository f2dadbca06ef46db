"""Tencent Cloud API 3.0 on loopback: strict about what is sent, true to what is published about its answers."""
