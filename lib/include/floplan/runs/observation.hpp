// SPDX-License-Identifier: BSD-3-Clause
//
// One finished training run as an estimator sees it: what was spent and what loss was reached.
//
//   parameters  N, in the count that the fitted law is to speak of (total, active or non-embedding)
//   tokens      D, training tokens seen
//   loss        the final loss, in any positive unit (nats/token, bits/byte, ...); the law comes out in the same unit
//   weight      how much the row counts; 2 is the same as the row written twice, 0 leaves it out
//   group       runs that were made together (one compute budget, one model size, one sweep): resampled together
//
// Readers of people's files make these; estimators take a span of them and never see a file.
//
// Pitfall: several losses of one run (checkpoints of one curve) are not independent rows; give them one group.
#pragma once

namespace floplan::runs {

struct Observation {
  double parameters = 0;
  double tokens = 0;
  double loss = 0;
  double weight = 1;
  int group = 0;
};

}  // namespace floplan::runs
