#include "cli/watch.hpp"

#include "cli/errors.hpp"
#include "cli/interrupt.hpp"
#include "cli/messages.hpp"
#include "cli/print.hpp"
#include "cli/terminal.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace muster::cli {
namespace {

class Watch {
  public:
    Watch(const Render& render, const std::function<bool()>& done, bool no_color)
        : render_(render), done_(done), no_color_(no_color) {}

    void note_change() {
        {
            const std::scoped_lock lock(mutex_);
            dirty_ = true;
        }
        changed_.notify_all();
    }
    void stop() {
        {
            const std::scoped_lock lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

    /// Draws until stopped; the code to exit with.
    int draw_loop(Api& api) {
        while (true) {
            const Terminal terminal = look_at_terminal(1, no_color_);
            auto text = render_(api, terminal.width);
            if (text) {
                show(*text, terminal);
            } else if (!code_retryable(text.error().code)) {
                return report_error(text.error());
            } else if (terminal.tty && !is_stopped()) {
                show(error_line(text.error()) + "\n", terminal);
            }
            if (done_ && done_()) return exit_ok;
            std::unique_lock lock(mutex_);
            const auto woken = [&] { return stopped_ || dirty_; };
            if (terminal.tty)
                changed_.wait_for(lock, std::chrono::nanoseconds(watch_refresh.ns), woken);
            else
                changed_.wait(lock, woken);
            if (stopped_) return exit_ok;
            if (dirty_) {
                changed_.wait_for(lock, std::chrono::nanoseconds(watch_gather.ns),
                                  [&] { return stopped_; });
                dirty_ = false;
            }
        }
    }

  private:
    bool is_stopped() {
        const std::scoped_lock lock(mutex_);
        return stopped_;
    }

    void show(const std::string& text, const Terminal& terminal) {
        if (terminal.tty) {
            if (text == last_) return;
            last_ = text;
            print_text("\x1b[H\x1b[2J" + text);
            return;
        }
        std::string fresh;
        std::set<std::string> lines;
        for (std::size_t at = 0; at < text.size();) {
            const auto end = std::min(text.find('\n', at), text.size());
            std::string line = text.substr(at, end - at);
            if (!shown_.contains(line)) fresh += line + '\n';
            lines.insert(std::move(line));
            at = end + 1;
        }
        shown_ = std::move(lines);
        if (!fresh.empty()) print_text(fresh);
    }

    const Render& render_;
    const std::function<bool()>& done_;
    bool no_color_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool dirty_ = false;
    bool stopped_ = false;
    std::string last_;
    std::set<std::string> shown_; // lines of the rendering before
};

} // namespace

int watch(const CommonFlags& common, const Render& render, const std::function<bool()>& done) {
    Interrupt interrupt;
    auto api = Api::connect(common);
    if (!api) return report_error(api.error());
    auto stream = Api::connect(common);
    if (!stream) return report_error(stream.error());
    auto server = api->get<ServerView>("/v1/server");
    if (!server) return report_error(server.error());
    Watch shown(render, done, common.no_color);
    std::atomic<int> code{exit_ok};
    std::jthread events([&] {
        const auto status = stream->events(server->facts, [&](const EventView&) {
            shown.note_change();
            return true;
        });
        if (!status) {
            code = report_error(status.error());
            interrupt.done();
        }
    });
    std::jthread drawing([&] {
        if (const int result = shown.draw_loop(*api); result != exit_ok) code = result;
        interrupt.done();
    });
    const int signal = interrupt.wait();
    shown.stop();
    api->cancel();
    stream->cancel();
    drawing.join();
    events.join();
    if (signal != 0) tell_watch_ended();
    return code;
}

void tell_watch_ended() {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", say("no longer watching; what runs goes on").c_str());
}

} // namespace muster::cli
