// What supervisor and worker say to each other on their socket, a line each.
//   supervisor: a case, as it stands in the list
//   worker:     `outcome <step> <status> <the line for status.jsonl>` for each call, then
//               `done`, or `last`: the case is done, and the worker takes no more
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <unistd.h>

namespace torchlift::run::channel {

inline constexpr std::string_view kOutcome = "outcome ";
inline constexpr std::string_view kDone = "done";
inline constexpr std::string_view kLast = "last";

// Whether all of `text` went out; not if the other side is gone.
inline bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

// Lines that have come in whole.
class Lines {
 public:
  // Waits for bytes; false at the end.
  bool receive(int socket) {
    char buffer[1 << 14];
    ssize_t size = 0;
    do size = read(socket, buffer, sizeof(buffer));
    while (size < 0 && errno == EINTR);
    if (size <= 0) return false;
    pending_.append(buffer, static_cast<size_t>(size));
    return true;
  }
  std::optional<std::string> next() {
    size_t end = pending_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    return line;
  }

 private:
  std::string pending_;
};

}  // namespace torchlift::run::channel
