#!/bin/bash
H=64; L=${L:-4}
if [ -n "$X" ]; then A=" --swiglu"; fi
ARGS=( --num-layers $L  # four
  --hidden-size=${H} --num-attention-heads '4' --group-query-attention --num-query-groups 2 )
MORE="--vocab-size 100 --make-vocab-size-divisible-by 8 $A \
  --position-embedding-type rope --seq-length 32"
MORE+=" --num-experts 4 --moe-router-topk 2 --moe-layer-freq ([0]*1+[1]*3)"
torchrun x.py ${ARGS[@]} $MORE --tensor-model-parallel-size 2 --micro-batch-size $((1+1)) && echo done
