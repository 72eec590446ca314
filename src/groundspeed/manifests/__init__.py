"""What is asked of a Kubernetes API server, as data: servers, their volumes, and the runner.

Pure: a plan in, objects (as JSON) out; and back, what their states mean for a person. It asks no
server and knows no client library.
"""
