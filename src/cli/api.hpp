#pragma once
// Api: one conversation with the server, on the caller's thread; cancel() may come from another.
// Finds the server by --server or MUSTER_SERVER with MUSTER_TOKEN, else by <state>/client.json.

#include "cli/flags.hpp"
#include "cli/pause.hpp"
#include "codec/json.hpp"
#include "control/requests.hpp"
#include "io/http/client.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace muster::cli {

inline constexpr Duration answer_max = Duration::seconds(30);
inline constexpr Duration stream_silence_max =
    Duration::seconds(60);                                         // then the stream is opened anew
inline constexpr Duration server_away_max = Duration::minutes(10); // that a follow waits for it

/// --state, MUSTER_STATE, /var/lib/muster for root, else $XDG_DATA_HOME/muster.
std::string state_directory(const std::string& flag);

struct ServerPlace {
    std::string url;
    std::string token;
    std::string source; // how it was found, for people: "MUSTER_SERVER"
};
Result<ServerPlace> find_server(const CommonFlags& flags);

/// What was asked for and did not come: adds where the server was looked for.
Error unreachable(Error error, const ServerPlace& place);

class Api {
  public:
    static Result<Api> connect(const CommonFlags& flags);

    template <class T>
    Result<T> get(const std::string& target, Duration deadline = answer_max) {
        http::HttpCall call;
        call.target = target;
        call.deadline = deadline;
        return decoded<T>(ask(call));
    }
    template <class T>
    Result<T> post(const std::string& target, std::string body = "{}",
                   std::map<std::string, std::string> headers = {}) {
        http::HttpCall call;
        call.method = "POST";
        call.target = target;
        call.body = std::move(body);
        call.headers = std::move(headers);
        call.deadline = answer_max;
        return decoded<T>(ask(call));
    }
    /// The body of a 2xx answer; any other is the error that it tells.
    Result<std::string> ask(const http::HttpCall& call);

    /// The events after `after`, until `take` says false. Resumes by itself while the server is
    /// away for at most server_away_max; `away` hears of the first failure in a row.
    Status events(Sequence after, const std::function<bool(const EventView&)>& take,
                  const std::function<void(const Error&)>& away = {});

    /// Ends what is asked for and every pause, now and from now on.
    void cancel() {
        pauses_->stop();
        client_.cancel();
    }
    /// Between two tries. False once cancelled.
    bool pause_for(Duration duration) { return pauses_->pause_for(duration); }
    bool cancelled() const { return client_.cancelled(); }
    const ServerPlace& place() const { return place_; }

  private:
    Api(http::HttpClient client, ServerPlace place)
        : client_(std::move(client)), place_(std::move(place)) {}

    template <class T>
    Result<T> decoded(Result<std::string> body) {
        if (!body) return fail(body.error());
        auto value = codec::from_json<T>(*body, codec::UnknownKeys::ignore);
        if (!value)
            return fail(Code::internal,
                        "the server's answer cannot be read: " + value.error().message,
                        "client and server may be of different versions: muster version");
        return value;
    }

    http::HttpClient client_;
    ServerPlace place_;
    std::unique_ptr<Pauses> pauses_ = std::make_unique<Pauses>(); // moves with the rest
};

/// "/v1/workloads/<job>" + rest, with the job's name encoded.
std::string job_path(const std::string& job, const std::string& rest = {});
std::string node_path(const std::string& node, const std::string& rest = {});

} // namespace muster::cli
