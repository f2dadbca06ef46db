"""Plugins: which adapters are installed, what their manifests say they can do, and how one is loaded."""
