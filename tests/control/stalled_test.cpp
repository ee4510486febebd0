// A journal that cannot be written: who is answered what, and that nothing leaves which a crash
// could undo. The core runs under the real loop, with a journal that does as it is told.

#include "control/stalled.hpp"
#include "harness.hpp"
#include "runtime/loop.hpp"
#include "runtime/memory_journal.hpp"

namespace muster::control {
namespace {

const Error no_room{
    Code::resource_exhausted, "journal /state/journal.db: the disk is full", "free space", {}};

class ServerOnADisk : public runtime::Outbox<ControlCommand> {
  public:
    ServerOnADisk() {
        step(Begin{});
        journal_.flush();
    }

    void fill_disk() {
        Ledger durable;
        for (std::size_t i = 0; i < journal_.records().size() - journal_.waiting(); ++i)
            durable.apply(journal_.records()[i]);
        stalled_.emplace(no_room, std::move(durable));
        answer_held();
    }
    void free_disk() {
        stalled_.reset();
        journal_.flush();
    }
    void write() { journal_.flush(); }

    std::int64_t ask(Request request) {
        step(RequestAsked{++reply_, "user:root", 1, static_cast<std::uint64_t>(reply_),
                          std::move(request)});
        return reply_;
    }
    std::int64_t beat(const AgentBeat& beat) {
        step(AgentAsked{++reply_, beat, Duration{}});
        return reply_;
    }
    /// Nothing: no answer yet.
    const Result<Response>* answer(std::int64_t reply) const {
        const auto found = responses_.find(reply);
        return found == responses_.end() ? nullptr : &found->second;
    }
    const Result<AgentOrder>* order(std::int64_t reply) const {
        const auto found = orders_.find(reply);
        return found == orders_.end() ? nullptr : &found->second;
    }
    const Ledger& ledger() const { return core_.ledger(); }
    std::size_t held() const { return loop_.held(); }

  private:
    void step(const ControlEvent& event) {
        now_ = now_ + Duration::millis(1);
        auto answer = stalled_ ? stalled_->answer(core_, now_, event) : std::nullopt;
        if (answer)
            send(std::move(*answer));
        else
            loop_.step(now_, event);
        if (stalled_) answer_held();
    }
    void answer_held() {
        loop_.answer_held(
            [this](const ControlCommand& held) { return stalled_->instead_of(held); });
    }
    void send(ControlCommand command) override {
        if (auto* request = std::get_if<AnswerRequest>(&command)) {
            EXPECT_TRUE(responses_.emplace(request->reply, std::move(request->response)).second);
        } else if (auto* agent = std::get_if<AnswerAgent>(&command)) {
            EXPECT_TRUE(orders_.emplace(agent->reply, std::move(agent->order)).second);
        }
    }

    Instant now_{1'800'000'000'000'000'000};
    std::int64_t reply_ = 0;
    std::map<std::int64_t, Result<Response>> responses_;
    std::map<std::int64_t, Result<AgentOrder>> orders_;
    ControlCore core_{Harness::make_config(), Ledger{}};
    runtime::MemoryJournal<FactRecord> journal_{
        [this](Sequence sequence) { loop_.durable(sequence); }};
    runtime::Loop<ControlCore> loop_{core_, journal_, *this};
    std::optional<Stalled> stalled_;
};

Submit submit(const std::string& name, const std::string& token = "") {
    return {job_spec(1, name), token, false};
}

bool names_the_disk(const Result<Response>* answer) {
    return answer != nullptr && !*answer &&
           answer->error().message.find("the disk is full") != std::string::npos &&
           answer->error().hint.find("free space") != std::string::npos;
}

TEST(Stalled, ReadsAreAnsweredAtOnceFromWhatIsDurable) {
    ServerOnADisk server;
    server.ask(submit("before"));
    server.write();
    server.ask(submit("after"));
    server.fill_disk();
    EXPECT_EQ(server.ledger().workloads.size(), 2U) << "the core is ahead";

    const auto* list = server.answer(server.ask(ListWorkloads{.all = true, .after = {}}));
    ASSERT_TRUE(list != nullptr && *list);
    const auto& page = std::get<WorkloadPage>(**list);
    ASSERT_EQ(page.items.size(), 1U);
    EXPECT_EQ(page.items[0].name.text, "before");
    const auto* known = server.answer(server.ask(GetWorkload{"before"}));
    EXPECT_TRUE(known != nullptr && *known);
    const auto* unknown = server.answer(server.ask(GetWorkload{"after"}));
    ASSERT_TRUE(unknown != nullptr && !*unknown);
    EXPECT_EQ(unknown->error().code, Code::not_found);
    for (const Request& request : {Request{Why{"before"}}, Request{GetReport{"before"}},
                                   Request{ListNodes{.after = {}}}, Request{GetServer{}}}) {
        const auto* answer = server.answer(server.ask(request));
        EXPECT_TRUE(answer != nullptr && *answer) << request.index();
    }
    EXPECT_EQ(server.ledger().workloads.size(), 2U) << "a read leaves the core's ledger alone";

    server.free_disk();
    const auto* later = server.answer(server.ask(GetWorkload{"after"}));
    EXPECT_TRUE(later != nullptr && *later);
}

TEST(Stalled, ChangesAreRefusedWithTheDisksName) {
    ServerOnADisk server;
    server.ask(submit("first"));
    server.write();
    server.ask(submit("second"));
    server.fill_disk();
    const auto facts = server.ledger().last_sequence;
    for (const Request& request : {Request{submit("third")}, Request{Cancel{"first"}},
                                   Request{CordonNode{NodeName{"n1"}, "why"}},
                                   Request{ReadJobLogs{.job = "first", .positions = {}}}}) {
        const auto* answer = server.answer(server.ask(request));
        ASSERT_TRUE(names_the_disk(answer)) << request.index();
        EXPECT_EQ(answer->error().code, Code::unavailable) << "it may be asked again";
    }
    EXPECT_EQ(server.ledger().last_sequence, facts) << "nothing happened";
}

TEST(Stalled, WhoWaitsIsToldAtOnceAndNotThatItHappened) {
    ServerOnADisk server;
    const auto reply = server.ask(submit("train", "token"));
    EXPECT_EQ(server.answer(reply), nullptr) << "not before it is durable";
    server.fill_disk();
    ASSERT_TRUE(names_the_disk(server.answer(reply)));
    EXPECT_EQ(server.answer(reply)->error().code, Code::unknown_outcome);

    const auto* again = server.answer(server.ask(submit("train", "token")));
    ASSERT_TRUE(names_the_disk(again));
    EXPECT_EQ(again->error().code, Code::unknown_outcome) << "it waits to be written";

    server.free_disk();
    const auto* known = server.answer(server.ask(submit("train", "token")));
    ASSERT_TRUE(known != nullptr && *known);
    EXPECT_TRUE(std::get<Submitted>(**known).existed) << "the change was made, once";
}

TEST(Stalled, BeatsAreTakenInButNoOrderLeaves) {
    ServerOnADisk server;
    Harness agents;
    const auto first = server.beat(agents.agent("n1"));
    server.write();
    EXPECT_TRUE(server.order(first) != nullptr && *server.order(first));
    server.ask(submit("train"));
    server.fill_disk();
    ++agents.agent("n1").asked;
    const auto second = server.beat(agents.agent("n1"));
    ASSERT_NE(server.order(second), nullptr) << "nobody waits for the disk";
    EXPECT_FALSE(*server.order(second)) << "it would list the job that is not durable";
    EXPECT_EQ(server.held(), 0U);

    server.free_disk();
    ++agents.agent("n1").asked;
    const auto third = server.beat(agents.agent("n1"));
    ASSERT_TRUE(server.order(third) != nullptr && *server.order(third));
    EXPECT_EQ((**server.order(third)).run.size(), 1U);
}

TEST(Stalled, AWaitForAJobIsHeldAndThenToldTheTrouble) {
    ServerOnADisk server;
    server.ask(submit("train"));
    server.write();
    server.ask(submit("other"));
    server.fill_disk();
    const auto held = server.ask(AwaitWorkload{"train", Duration::seconds(20)});
    EXPECT_EQ(server.answer(held), nullptr) << "it may still end";
    const auto due = server.ask(AwaitWorkload{"train", Duration{}});
    EXPECT_TRUE(names_the_disk(server.answer(due)));
}

} // namespace
} // namespace muster::control
