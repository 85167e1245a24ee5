"""How time and memory grow: estimates by rows and columns, packs by members, sweeps by cells and by nodes of Ray."""
