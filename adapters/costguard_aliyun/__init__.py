"""The adapter for Alibaba Cloud."""
