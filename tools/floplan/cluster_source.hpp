// SPDX-License-Identifier: BSD-3-Clause
//
// A cluster on the command line: its links where the catalog does not say, its software, its calibration.
#pragma once

#include <optional>
#include <string>

#include "command.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/cluster/step_request.hpp"

namespace floplan::cli {

struct ClusterOptions {
  Text gemm_ceiling, memory_bandwidth, scale_up, scale_up_domain, network, pod, oversubscription;
  Text stack, scaling, attention, elementwise, host, sequence_parallel, overlap, scatter_gather, gradient_bytes,
      data_parallel, selective, context_exchange, schedule;
  Text efficiencies;

  // The first option of machine or software that was given, or nothing.
  [[nodiscard]] std::optional<std::string> given() const;
};

// `options` must outlive the program.
void add_cluster(Subcommand& sub, ClusterOptions& options);

[[nodiscard]] cluster::Efficiencies efficiencies_of(const ClusterOptions& options);

// Machine, software and efficiencies of the request, whose precision is set. True where the software is a publisher's.
bool take_cluster(const Session& session, const ClusterOptions& options, const catalog::Accelerator& on,
                  cluster::StepRequest& r);

// The convention named none, causal or full.
[[nodiscard]] law::FlopConvention attention_convention(const std::string& word);

}  // namespace floplan::cli
