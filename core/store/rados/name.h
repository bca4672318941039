// Names of files in a Ceph pool: rados:POOL/NAME, with options after a question mark.
//
//   rados:climate/run7/sst.npy
//   rados:climate/sst.npy?conf=/etc/ceph/test.conf&id=ann&timeout=30&stripe=65536,4,4194304
//
//   conf      the cluster's configuration file; by default $CEPH_CONF, else librados's default
//   id        the user, "admin" for client.admin; by default $CEPH_ID, else librados's own
//   timeout   seconds that an operation may take; 60 by default
//   class     "no": does not use the object class, even if the servers have it
//   stripe    for a new file: stripe unit, stripe count, object size
#pragma once

#include <cstdint>
#include <string>

#include "layout/stripes.h"

namespace swath {

struct RadosName {
  std::string pool;
  std::string file;
  std::string conf;  // empty: librados's own choice
  std::string id;
  double timeout_seconds = 60;
  bool use_class = true;
  StripeLayout stripes;

  // Throws Error{kArgument} that says what was expected, for an invalid name.
  static RadosName parse(const std::string& path);
  // The path of another file in the same pool, with the same options: `path` must be valid for parse().
  static std::string beside(const std::string& path, const std::string& file);
};

// True if a path is the name of a file in a pool. A local file of such a name is "./rados:…".
inline bool is_rados(const std::string& path) { return path.starts_with("rados:"); }

}  // namespace swath
