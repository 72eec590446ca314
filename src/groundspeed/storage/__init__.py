"""Storage backends: where the files of a server go and what stands between it and them."""
