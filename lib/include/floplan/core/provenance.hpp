// SPDX-License-Identifier: BSD-3-Clause
//
// Where a number comes from.
//
// Every record of a catalog carries one: the publication or page, when it was published or read, and whether a second,
// independent source (or the publisher's own text) confirmed it. A number typed from memory or from one secondary page is
// not verified, and whatever is computed from it says so.
//
// Pitfall: verified speaks of the transcription, not of the claim: a vendor's peak may be verified and out of reach.
#pragma once

#include <string>

namespace floplan {

struct Provenance {
  std::string source;
  std::string date;  // YYYY, YYYY-MM or YYYY-MM-DD; empty if not known
  bool verified = false;
  std::string note;
};

}  // namespace floplan
