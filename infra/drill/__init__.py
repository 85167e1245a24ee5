"""The fault drill: sweeps are interrupted by real faults and run again; then the record is checked.

rounds     `make drill ARGS="--rounds 5 --seed 1 --faults driver,server"`
faults     kills, pauses, a full disk, a locked database, a clock set back, a faulty server
sweep      the sweep that is interrupted, with its ledger of everything that trials report
observer   reads the tracking store during a round and at its end
history    checks the guarantees of the record on what was observed
processes  processes, an MLflow server, a Ray cluster, mounts
proxy      an HTTP proxy that loses, delays and damages answers
"""
