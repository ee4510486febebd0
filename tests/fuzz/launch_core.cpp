// What arrives at a launcher, a line each: beats of members, orders of the server and of the lead,
// progress and ends of its ranks; in front of a shell that does what the core asks at once.
//
//     lead                  or member: which launcher of two, on the first line
//     server {"attempt":1,"asked":1,...}          a LauncherOrder
//     beat {"workload":"...","attempt":1,...}     a MemberBeat, at the lead
//     order {"attempt":1,"asked":1,...}           a MemberOrder, at a member
//     progress [{"local_rank":0,"step":3},...]    of its own ranks
//     exit {"local_rank":0,"exit_code":1}
//     pass 5s

#include "base/text.hpp"
#include "launch/core.hpp"
#include "round_trip.hpp"

#include <deque>

namespace {

using namespace muster;

constexpr WorkloadId workload{RawId{1, 1}};
constexpr Duration pass_max = Duration::hours(1);
constexpr int events_max = 20'000; // of one line; more: it spins

launch::LaunchConfig config_of(std::int64_t index) {
    launch::LaunchConfig config;
    config.installation = InstallationId{RawId{7, 7}};
    config.incarnation = 1;
    config.address = "127.0.0.1";
    config.endpoint = "127.0.0.1:9000";
    config.order.workload = workload;
    config.order.attempt = 1;
    config.order.launcher_index = index;
    config.order.name = WorkloadName{"train"};
    Role role;
    role.ranks = 4;
    role.command = {"python3", "train.py"};
    config.order.spec.roles = {role};
    for (const char* node : {"n1", "n2"})
        config.order.placement.nodes.push_back(
            {NodeName{node}, 1, {Seat{role.name, {0}}, Seat{role.name, {1}}}});
    return config;
}

class Launcher {
  public:
    explicit Launcher(std::int64_t index) : core_(config_of(index)) { take(launch::Begin{}); }

    void take(launch::LaunchEvent event) {
        std::deque<launch::LaunchEvent> events{std::move(event)};
        for (int i = 0; !events.empty() && !left_; ++i) {
            REQUIRE(i < events_max, "the core comes to rest");
            auto decision = core_.step(now_, events.front());
            wake_at_ = decision.wake_at;
            events.pop_front();
            for (const auto& command : decision.commands) answer(command, events);
        }
    }

    void pass(Duration length) {
        const Instant until = now_ + length;
        for (int wakes = 0; wake_at_ <= until && !left_; ++wakes) {
            REQUIRE(wakes < events_max, "time goes by without a wake for each moment of it");
            now_ = std::max(now_ + Duration::nanos(1), wake_at_);
            take(launch::Wake{});
        }
        now_ = std::max(now_, until);
        if (!left_) take(launch::Wake{});
    }

    Generation generation() const { return generation_; }
    Instant now() const { return now_; }

  private:
    template <class T>
    static void writes(const T& value) {
        static_cast<void>(fuzz::decoded<T>(codec::to_json(value, codec::Style::exact),
                                           codec::UnknownKeys::refuse));
    }

    void answer(const launch::LaunchCommand& command, std::deque<launch::LaunchEvent>& events) {
        if (const auto* beat = std::get_if<launch::SendServerBeat>(&command)) writes(beat->beat);
        if (const auto* beat = std::get_if<launch::SendMemberBeat>(&command)) writes(beat->beat);
        if (const auto* reply = std::get_if<launch::AnswerMember>(&command)) writes(reply->order);
        if (const auto* bind = std::get_if<launch::BindPort>(&command))
            events.push_back(launch::PortBound{bind->generation, 29'500, {}});
        if (const auto* start = std::get_if<launch::StartRanks>(&command)) {
            REQUIRE(start->table.generation > generation_, "generations only grow");
            generation_ = start->table.generation;
            events.push_back(launch::RanksStarted{generation_});
        }
        if (const auto* kill = std::get_if<launch::KillRanks>(&command))
            events.push_back(launch::RanksCleared{kill->generation, 0});
        if (const auto* leave = std::get_if<launch::Leave>(&command)) {
            writes(leave->result);
            left_ = true;
        }
    }

    Instant now_{1'800'000'000'000'000'000};
    Instant wake_at_;
    Generation generation_ = 0;
    bool left_ = false;
    launch::LaunchCore core_;
};

std::string_view take_until(std::string_view& text, char separator) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
}

void run_line(Launcher& launcher, std::string_view line) {
    constexpr auto ignore = codec::UnknownKeys::ignore;
    const std::string_view word = take_until(line, ' ');
    if (word == "server") {
        if (auto order = codec::from_json<LauncherOrder>(line, ignore))
            launcher.take(launch::ServerSaid{Lane::poll, std::move(*order)});
    } else if (word == "beat") {
        if (auto beat = codec::from_json<MemberBeat>(line, ignore))
            launcher.take(launch::MemberAsked{1, std::move(*beat), Duration{}});
    } else if (word == "order") {
        if (auto order = codec::from_json<MemberOrder>(line, ignore))
            launcher.take(launch::LeadSaid{Lane::poll, std::move(*order)});
    } else if (word == "progress") {
        if (auto ranks = codec::from_json<std::vector<RankProgress>>(line, ignore))
            launcher.take(launch::ProgressRead{launcher.generation(), std::move(*ranks)});
    } else if (word == "exit") {
        if (auto exit = codec::from_json<RankExit>(line, ignore)) {
            exit->at = launcher.now(); // of our own clock
            launcher.take(launch::RankExited{launcher.generation(), std::move(*exit)});
        }
    } else if (word == "pass") {
        if (const auto length = parse_duration(line); length && *length <= pass_max)
            launcher.pass(std::max(*length, Duration{}));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text = fuzz::text_of(data, size);
    Launcher launcher(take_until(text, '\n') == "member" ? 1 : 0);
    while (!text.empty()) run_line(launcher, take_until(text, '\n'));
    return 0;
}
