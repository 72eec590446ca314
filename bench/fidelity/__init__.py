"""How right the storage emulation is: asked of the device, measured, and the error.

`python -m bench.fidelity` runs every group and prints one table. docs/fidelity.md says what each
line means. It refuses to be a test: its figures hold for a machine that does nothing else.
"""
