"""How right the verdict is, in simulations over noise that was recorded on real machines."""
