"""The information in the layers of a network, before and after training."""
