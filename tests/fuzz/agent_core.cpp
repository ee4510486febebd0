// Orders as they arrive at an agent, one a line, in front of a shell that does what the core asks
// at once. Whatever a server says, the core keeps its own rules and its journal replays.

#include "agent/core.hpp"
#include "round_trip.hpp"

#include <deque>

namespace {

using namespace muster;

constexpr Duration line_time = Duration::seconds(1); // goes by between two lines
constexpr int events_max = 10'000;                   // of one line; more: it spins

class Agent {
  public:
    Agent() : core_(config(), {}) { take(agent::Begin{}); }
    ~Agent() {
        agent::AgentLedger replayed;
        for (const auto& record : records_) {
            const auto text = codec::to_json(record, codec::Style::exact);
            const auto back = codec::from_json<agent::AgentRecord>(text);
            REQUIRE(back, "a record reads back from the journal");
            replayed.apply(*back);
        }
        // Texts, since a result may hold a NaN.
        REQUIRE(replayed.holds.size() == core_.ledger().holds.size() &&
                    replayed.installation == core_.ledger().installation,
                "the journal replays to the ledger");
    }

    void order(AgentOrder order, Lane lane) {
        order.session = config().session;
        take(agent::OrderArrived{lane, std::move(order)});
        now_ = now_ + line_time;
        take(agent::Wake{});
    }

  private:
    static agent::AgentConfig config() {
        agent::AgentConfig config;
        config.node = NodeName{"n1"};
        config.boot_id = "b";
        config.session = AgentSessionId{RawId{1, 1}};
        return config;
    }

    void take(agent::AgentEvent event) {
        std::deque<agent::AgentEvent> events{std::move(event)};
        for (int i = 0; !events.empty(); ++i) {
            REQUIRE(i < events_max, "the core comes to rest");
            auto decision = core_.step(now_, events.front());
            events.pop_front();
            for (auto& record : decision.facts) records_.push_back(std::move(record));
            for (const auto& command : decision.commands) answer(command, events);
        }
    }

    void answer(const agent::AgentCommand& command, std::deque<agent::AgentEvent>& events) {
        if (const auto* beat = std::get_if<agent::SendBeat>(&command))
            static_cast<void>(fuzz::decoded<AgentBeat>(
                codec::to_json(beat->beat, codec::Style::exact), codec::UnknownKeys::refuse));
        if (const auto* start = std::get_if<agent::StartLauncher>(&command))
            events.push_back(agent::LauncherStarted{
                {start->order.workload, start->order.attempt}, ++pid_, pid_, {}});
        if (const auto* leave = std::get_if<agent::AskLauncherToLeave>(&command))
            events.push_back(agent::LauncherGone{leave->key, LauncherResult{}, {}});
        if (const auto* clear = std::get_if<agent::ClearGroup>(&command))
            events.push_back(agent::GroupCleared{clear->key, 0});
        if (const auto* read = std::get_if<agent::ReadLogs>(&command))
            events.push_back(agent::LogsRead{{read->request.request, {}, {}}});
    }

    Instant now_{1'800'000'000'000'000'000};
    std::int64_t pid_ = 1;
    agent::AgentCore core_;
    std::vector<agent::AgentRecord> records_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text = fuzz::text_of(data, size);
    Agent agent;
    for (Lane lane = Lane::poll; !text.empty();
         lane = lane == Lane::poll ? Lane::push : Lane::poll) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (auto order = codec::from_json<AgentOrder>(line, codec::UnknownKeys::ignore))
            agent.order(std::move(*order), lane);
    }
    return 0;
}
