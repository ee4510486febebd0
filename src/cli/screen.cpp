#include "cli/screen.hpp"

#include <cstdio>
#include <utility>

namespace muster::cli {
namespace {

void put(std::FILE* to, std::string_view text) { std::fwrite(text.data(), 1, text.size(), to); }

} // namespace

Screen::Screen(bool no_color)
    : out_(look_at_terminal(1, no_color)), err_(look_at_terminal(2, no_color)),
      no_color_(no_color) {}

Screen::~Screen() { end_live(); }

Terminal Screen::err_now() const { return look_at_terminal(2, no_color_); }

void Screen::erase() {
    if (!drawn_) return;
    put(stderr, "\r\x1b[K");
    drawn_ = false;
}

void Screen::draw() {
    if (!err_.tty || live_.empty()) return;
    put(stderr, "\r\x1b[K" + live_);
    std::fflush(stderr);
    drawn_ = true;
}

void Screen::job_line(std::string_view text) {
    const std::scoped_lock lock(mutex_);
    if (out_.tty && drawn_) {
        erase();
        std::fflush(stderr);
    }
    put(stdout, std::string(text) + "\n");
    if (!err_.tty || !out_.tty) return; // the caller flushes
    std::fflush(stdout);
    draw();
}

void Screen::own_line(std::string_view text) {
    const std::scoped_lock lock(mutex_);
    std::fflush(stdout);
    erase();
    put(stderr, std::string(text) + "\n"); // one write: other processes may write here, too
    std::fflush(stderr);
    draw();
}

void Screen::live(std::string text, bool milestone, Instant now) {
    const std::scoped_lock lock(mutex_);
    if (err_.tty) {
        if (text == live_ && drawn_) return;
        live_ = std::move(text);
        draw();
        return;
    }
    if (text == plain_last_) return;
    if (!milestone && now - plain_at_ < plain_progress_every) return;
    plain_at_ = now;
    plain_last_ = text;
    std::fflush(stdout);
    put(stderr, text + "\n");
    std::fflush(stderr);
}

void Screen::end_live(bool typed) {
    const std::scoped_lock lock(mutex_);
    drawn_ = drawn_ || (typed && err_.tty);
    erase();
    live_.clear();
    std::fflush(stderr);
}

void Screen::flush() {
    const std::scoped_lock lock(mutex_);
    std::fflush(stdout);
}

} // namespace muster::cli
