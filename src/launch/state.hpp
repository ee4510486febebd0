#pragma once
// LaunchCore::State: the parts of the core and the way events reach them. Internal to launch/.

#include "launch/lead.hpp"
#include "launch/member.hpp"
#include "launch/server_link.hpp"

namespace muster::launch {

struct LaunchCore::State {
    Context context;
    ServerLink server{context};
    Lead lead{context};
    Member member{context};
    bool leads = false;
    Instant planned; // the wake that the last step asked for; zero: none yet

    explicit State(LaunchConfig config) : context(std::move(config)), leads(context.self() == 0) {}

    void take(Instant now, const Begin& event);
    void take(Instant now, const ServerSaid& event);
    void take(Instant now, const ServerSilent& event);
    void take(Instant now, const MemberAsked& event);
    void take(Instant now, const LeadSaid& event);
    void take(Instant now, const LeadSilent& event);
    void take(Instant now, const PortBound& event);
    void take(Instant now, const RanksStarted& event);
    void take(Instant now, const RankExited& event);
    void take(Instant now, const RanksCleared& event);
    void take(Instant now, const ProgressRead& event);
    void take(Instant now, const LeaveAsked& event);
    void take(Instant now, const Wake& event);

    void forgive_stall(Instant now);
    void set_role(Instant now, const LauncherOrder& order);
    ServerWord word() const;
    Instant wake_at() const;
};

} // namespace muster::launch
