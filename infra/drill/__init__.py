"""The fault drill: sweeps are struck by real faults, run again, and what the tracking store then holds is compared with
what an uninterrupted training gives. `make drill ARGS="--rounds 5 --seed 1 --faults driver,server"`

sweep       what is run (copied into the fresh working tree of every round)
processes   starting processes, and ending them by id
places      the MLflow server, the two-node cluster, the disk of a fixed size
liar        a proxy that lies about what the server has said
faults      the faults, and how each one strikes
reading     what the store holds in the end, and what is wrong with it
poison      runs of others, put into an experiment
rounds      one round
"""
