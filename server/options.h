// What an axisd can be told; flags are read into this in main.cc alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace axis {

struct Options {
  // Where calls are taken: "host:port" or "unix:PATH"; port 0 picks one.
  std::vector<std::string> listen = {"0.0.0.0:8001"};

  // Where Prometheus scrapes, "host:port"; empty for nowhere.
  std::string metrics = "0.0.0.0:8002";

  // TLS for all of `listen`: our certificate with those that vouch for it, and
  // its key; both or neither. The files are looked at every second, and the
  // last good ones stand.
  std::string tls_certificate = {};
  std::string tls_key = {};

  // Who vouches for clients, which must then have a certificate. Empty: clients
  // are not asked for one.
  std::string tls_client_ca = {};

  // A file of an axis.v1.AccessRules: who may call what. It is looked at every
  // second, and the last good one stands. Clients need no certificate then, but
  // what a rule knows them by. Empty: everybody may call everything.
  std::string access_rules = {};

  // Where health alone is told, in plaintext, for those who ask without TLS;
  // empty for nowhere. `listen` tells it too.
  std::string health_listen = {};

  // Threads that compute; 0 for as many as CPUs may be used (affinity and
  // cgroup quota). More of them help only calls of several MiB.
  int threads = 0;

  // The largest request or response, at most 2 GiB - 1 because protobuf ends
  // there. Larger tensors go through StreamPipeline.
  int64_t max_message_bytes = int64_t{256} << 20;

  // Requests and responses held at a time; beyond it calls are refused. gRPC's
  // own buffers, where requests arrive, may take as much once more and two
  // messages, so that it is we who refuse.
  int64_t max_inflight_bytes = int64_t{2} << 30;

  // Connections at a time; more are closed as they come. gRPC keeps up to
  // 100 KiB for each with TLS, 20 KiB without; and the calls that are open on
  // all together may take 128 KiB for each that may be.
  int64_t max_connections = 1024;

  // Calls of more than a moment (large, compressed, streams) under way at a
  // time; beyond it they are refused. Fewer of them wait less for each other.
  int64_t max_inflight_calls = 1024;

  // Memory of finished calls kept for the next ones, which is far cheaper than
  // fresh pages; given back to the system when unused for five seconds.
  int64_t max_idle_bytes = int64_t{512} << 20;

  // From SIGTERM until no call is taken any more; long enough for clients and
  // load balancers to learn that readiness is gone.
  absl::Duration drain_delay = absl::Seconds(5);

  // How long calls may then still run.
  absl::Duration drain_timeout = absl::Seconds(10);

  // Connections older than this are closed without loss, so that clients
  // spread over new replicas.
  absl::Duration max_connection_age = absl::Minutes(5);

  // A connection silent for this long is asked whether it is still there, and
  // closed if it does not say so within as long again, or 20 s. Else a client
  // that vanished in the middle of a request would hold its memory for good,
  // and what lies between would forget the connection.
  absl::Duration keepalive = absl::Seconds(60);

  // A folder of named programs and OpenVINO IR to serve as models beside the
  // ops; empty for none. Read once, at the start.
  std::string models = {};

  // Whether clients of this machine may name POSIX shared memory instead of
  // sending tensors. Whoever may call can then read and write every object
  // that this process may.
  bool allow_shared_memory = false;

  bool reflection = true;   // lets grpcurl see the services
  bool access_log = false;  // a log line for every call

  // Calls that take longer get a log line anyway, one a second at most. Streams
  // do not: they take as long as their clients like.
  absl::Duration log_slower_than = absl::Seconds(1);
};

}  // namespace axis
