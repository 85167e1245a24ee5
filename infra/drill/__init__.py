"""The fault drill: sweeps are struck by real faults, run again, and what the tracking store then holds is compared with
what an uninterrupted training gives. `make drill ARGS="--rounds 5 --seed 1 --faults driver,server"`
"""
