#!/bin/bash
N=1
--num-layers $((N*2+1)) --hidden-size $(( (N+3)*16 )) --num-attention-heads ${N} --vocab-size 1_00 --position-embedding-type rope
