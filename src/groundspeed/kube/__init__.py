"""The connection to a Kubernetes API server: objects, watches, logs and programs in pods.

It knows no database, no run and no manifest; what objects mean is told in `manifests`.
"""
