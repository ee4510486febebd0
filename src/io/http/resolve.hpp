#pragma once
// A server's URL, and Lookup: the addresses of a host, on a thread of its own, since the C
// library's resolver can neither be interrupted nor bounded. Who waits may go at any time; the
// thread ends when the resolver does (its own time-outs: some seconds for each server in
// /etc/resolv.conf).

#include "base/result.hpp"
#include "base/time.hpp"

#include <memory>
#include <netdb.h>
#include <string>

namespace muster::http {

struct Url {
    std::string host; // without brackets
    std::string port; // in digits
};
Result<Url> parse_url(const std::string& url);

struct FreeAddresses {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

class Lookup {
  public:
    virtual ~Lookup() = default;
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;

    /// Readable once it is done.
    virtual int fd() const = 0;
    /// Once, after it is done. unavailable with the resolver's words.
    virtual Result<Addresses> take() = 0;

  protected:
    Lookup() = default;
};

/// `port` in digits. Null where no thread can be started.
std::shared_ptr<Lookup> look_up(const std::string& host, const std::string& port);

/// Of an address in digits, at once; empty for a name.
Addresses numeric_address(const std::string& host, const std::string& port);

/// Waits for at most `limit`.
Result<Addresses> addresses_of(const std::string& host, const std::string& port, Duration limit);

} // namespace muster::http
