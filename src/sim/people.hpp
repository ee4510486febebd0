#pragma once
// People: submit jobs with client tokens, cancel them, cordon and uncordon nodes, look. They repeat
// a request whose outcome they do not know, and remember what was acknowledged.

#include "control/requests.hpp"
#include "sim/training.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::sim {

class World;

class People {
  public:
    explicit People(World& world) : world_(world) {}

    /// Plans must stay where they are for the life of the world.
    void submit(const JobPlan& plan);
    void cancel(const std::string& name);
    void cordon(const NodeName& node);
    void uncordon(const NodeName& node);
    void look();
    /// Once, without a repetition; `then` is called where an answer comes.
    void ask_why(const std::string& name, std::function<void(const WhyView&)> then);

    struct Acknowledged {
        WorkloadId id;
        bool cancelled = false; // the cancel was acknowledged
    };
    const std::map<std::string, Acknowledged>& acknowledged() const { return acknowledged_; }
    const std::set<NodeName>& cordoned() const { return cordoned_; }
    std::size_t open() const { return open_; }
    /// Every job that was submitted is acknowledged, and all of a seed's jobs were.
    bool all_submitted() const;
    bool asked_to_cancel(const std::string& name) const { return cancels_.contains(name); }

  private:
    void ask(control::Request request, std::string about, std::int64_t tries);
    void answered(const control::Request& request, const std::string& about,
                  const Result<control::Response>& response);

    World& world_;
    std::size_t open_ = 0;
    std::map<std::string, Acknowledged> acknowledged_; // by name
    std::set<std::string> submitted_;                  // asked for
    std::set<std::string> cancels_;
    std::set<NodeName> cordoned_; // acknowledged at least once
};

} // namespace muster::sim
