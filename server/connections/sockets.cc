// What gRPC asks of the kernel about its sockets, and gets otherwise. The
// linker takes these functions before those of the C library, for gRPC too.
//
// recvmsg() and sendmsg() tell conversations what passes; of a client that asks
// for too much, nothing does.
//
// recvmsg() also corrects what the kernel says of how much more there is
// (TCP_INQ): "nothing" although a reset has come. gRPC believes it: when the
// last bytes of a client and its reset are read late and at once, the call
// would hold its memory until --keepalive finds the client gone.
//
// sendmsg() also sends large answers in turns while others send as well. gRPC
// offers all that the peer has room for, which over loopback were 34 MiB at
// once: 7 ms in which the kernel does not let go of the CPU, and the polling
// thread sees no other call. A turn over, the socket seems to be full, and
// whoever is owed the CPU gets it; then epoll, told so by epoll_ctl(), finds
// room again, after what else has come. Alone, a client of 16 MiB would lose a
// fifth by it; 64 clients of 1 MiB a third, sent to after the caches have lost
// their answers.
#include "server/connections/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "server/connections/conversations.h"

namespace {

// So much is sent in tens of microseconds.
constexpr size_t kTurnBytes = 256 << 10;

// What is offered with more than that goes in turns, to its end.
constexpr size_t kLargeBytes = 2 << 20;

// Offered in more pieces, a turn is shorter.
constexpr size_t kTurnPieces = 64;

// How a socket is polled: gRPC is told of a change only (EPOLLET), and of one
// that has been before if epoll is told the same once more.
struct Polled {
  bool is_polled = false;
  bool is_in_turns = false;  // what has been offered, and is not sent yet
  bool turn_is_over = false;
  int epoll = 0;
  epoll_event event = {};
};

// By socket. Written by whoever adds it to epoll, and then by who sends to it:
// one thread at a time, as gRPC sees to. Pages of it that no socket needs are
// never touched; sockets beyond it send all at once.
std::array<Polled, 64 << 10> g_polled;

Polled* FindPolled(int socket) {
  const auto i = static_cast<size_t>(socket);
  return i < g_polled.size() ? &g_polled[i] : nullptr;
}

// When it last was another socket that sent, in coarse milliseconds, and which.
std::atomic<int64_t> g_changed = INT64_MIN / 2;
std::atomic<int> g_sender = -1;
std::atomic<int64_t> g_changes = 0;

// So long ago others still count: a few calls of whoever calls all the time.
constexpr int64_t kCompanyMs = 20;

// Notes that `socket` sends; whether others do so as well.
bool HasCompany(int socket) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const int64_t now = time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
  if (g_sender.exchange(socket, std::memory_order_relaxed) != socket) {
    g_changed.store(now, std::memory_order_relaxed);
    g_changes.fetch_add(1, std::memory_order_relaxed);
  }
  return now - g_changed.load(std::memory_order_relaxed) < kCompanyMs;
}

ssize_t Send(int socket, const msghdr& message, int flags) {
  const ssize_t sent = syscall(SYS_sendmsg, socket, &message, flags);
  if (sent > 0) axis::SayTo(socket, message, static_cast<size_t>(sent));
  return sent;
}

int ControlEpoll(int epoll, int operation, int socket, epoll_event* event) {
  return static_cast<int>(
      syscall(SYS_epoll_ctl, epoll, operation, socket, event));
}

// Whether the turn of a socket is over, and its next one will come.
bool EndsTurn(int socket, Polled& polled) {
  if (!polled.turn_is_over) return false;
  polled.turn_is_over = false;
  // Not if it has been closed meanwhile, and is another one.
  if (ControlEpoll(polled.epoll, EPOLL_CTL_MOD, socket, &polled.event) != 0)
    return false;
  sched_yield();
  return true;
}

// How much more there is, of which a read of `message` told; null if it did
// not.
int* FindLeft(msghdr& message) {
  for (cmsghdr* said = CMSG_FIRSTHDR(&message); said != nullptr;
       said = CMSG_NXTHDR(&message, said))
    if (said->cmsg_level == SOL_TCP && said->cmsg_type == TCP_CM_INQ)
      return reinterpret_cast<int*>(CMSG_DATA(said));
  return nullptr;
}

// If it comes only after we ask, epoll tells of it.
bool IsReset(int socket) {
  pollfd reset{.fd = socket, .events = 0, .revents = 0};
  return poll(&reset, 1, 0) > 0;
}

}  // namespace

namespace axis {

int64_t SenderChanges() { return g_changes.load(std::memory_order_relaxed); }

}  // namespace axis

extern "C" {

ssize_t recvmsg(int socket, msghdr* message, int flags) {
  const ssize_t received = syscall(SYS_recvmsg, socket, message, flags);
  if (received <= 0 || (flags & MSG_ERRQUEUE) != 0) return received;
  if (!axis::HearFrom(socket, *message, static_cast<size_t>(received))) {
    errno = ECONNRESET;
    return -1;
  }
  int* const left = FindLeft(*message);
  if (left != nullptr && *left == 0 && IsReset(socket)) *left = 1;
  return received;
}

int epoll_ctl(int epoll, int operation, int socket,
              epoll_event* event) noexcept {
  Polled* const polled = FindPolled(socket);
  // Before the first event comes, to whatever thread.
  if (polled != nullptr)
    *polled = operation == EPOLL_CTL_DEL || (event->events & EPOLLET) == 0
                  ? Polled{}
                  : Polled{.is_polled = true, .epoll = epoll, .event = *event};
  const int result = ControlEpoll(epoll, operation, socket, event);
  if (polled != nullptr && result != 0) *polled = {};
  return result;
}

ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  Polled* const polled = FindPolled(socket);
  if (polled == nullptr || !polled->is_polled)
    return Send(socket, *message, flags);
  const bool has_company = HasCompany(socket);
  if (EndsTurn(socket, *polled)) {
    errno = EAGAIN;
    return -1;
  }
  const std::span offered(message->msg_iov, message->msg_iovlen);
  size_t bytes = 0;
  for (const iovec& piece : offered) bytes += piece.iov_len;
  polled->is_in_turns = has_company && bytes > kTurnBytes &&
                        (polled->is_in_turns || bytes > kLargeBytes);
  if (!polled->is_in_turns) return Send(socket, *message, flags);
  std::array<iovec, kTurnPieces> pieces;
  size_t count = 0;
  for (bytes = 0; bytes < kTurnBytes && count < pieces.size(); ++count) {
    pieces[count] = offered[count];
    pieces[count].iov_len = std::min(pieces[count].iov_len, kTurnBytes - bytes);
    bytes += pieces[count].iov_len;
  }
  msghdr turn = *message;
  turn.msg_iov = pieces.data();
  turn.msg_iovlen = count;
  const ssize_t sent = Send(socket, turn, flags);
  polled->turn_is_over = sent == static_cast<ssize_t>(bytes);
  return sent;
}

}  // extern "C"
