"""Critics, variational bounds on their scores, and the engine that trains them.

critics   make_critic(kind, dim_x, dim_y, ...): inner, bilinear, separable and joint critics, one or many members
bounds    BOUNDS[name]: nwj, js, infonce, dv, mine, smile-<clip>, mine-one-step, ...
training  fit_critic(source, critic, bound, steps, ...) -> Trace; Training: the same, interruptible
precision products of a training in bfloat16: PRECISIONS, has_bf16(device)
heldout   held_out(source, critic, bounds, batch, batches, generator), and oracle_errors of an exact critic
"""
