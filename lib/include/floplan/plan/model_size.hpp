// SPDX-License-Identifier: BSD-3-Clause
//
// How large the model of a request is: what memory holds, what a token computes with, and what its law counts.
//
//   const ModelSize size = model_size(request);     size.total for bytes, size.active for FLOP
//
// The two differ in a mixture of experts: 64B parameters of which a token uses 8B train on 2T tokens in 9.6e22 FLOP, and
// need the memory of 64B. A law of dense models says nothing of such a mixture's loss.
//
// Pitfall: 6 x total x tokens for a mixture of experts is wrong by total / active, 8 in that example.
#pragma once

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/plan/request.hpp"

namespace floplan::plan {

struct ModelSize {
  Parameters total;
  Parameters active;
  [[nodiscard]] bool is_mixture() const { return active < total; }
};

// The request has a shape or a number of parameters.
[[nodiscard]] inline ModelSize model_size(const Request& r) {
  if (!r.shape) return {*r.parameters, r.active_parameters.value_or(*r.parameters)};
  const architecture::ParameterCount count = architecture::parameter_count(*r.shape);
  return {count.total, count.active};
}

// The parameters as the request's law counts them. check() has seen to it that there is a shape where that needs one.
[[nodiscard]] inline Parameters counted_parameters(const Request& r) {
  const law::ParameterConvention convention = r.law->parameter_convention;
  if (r.shape) return architecture::parameter_count(*r.shape).as(convention);
  return convention == law::ParameterConvention::active ? model_size(r).active : *r.parameters;
}

// Whether the law can say anything of this model: laws of all weights hold for models that use them all.
[[nodiscard]] inline bool law_covers(const Request& r) {
  return r.law && (!model_size(r).is_mixture() || r.law->parameter_convention == law::ParameterConvention::active);
}

}  // namespace floplan::plan
