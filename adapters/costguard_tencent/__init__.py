"""The adapter for Tencent Cloud."""
