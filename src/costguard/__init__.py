"""costguard watches rented GPUs on several clouds, warns people, stops waste, and proves what it saved."""

__version__ = "0.1.0"
