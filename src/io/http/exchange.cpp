#include "io/http/exchange.hpp"

#include "base/require.hpp"

namespace muster::http {
namespace detail {

void Inbox::push(Delivery delivery) {
    const std::lock_guard lock(mutex_);
    if (!open_) return;
    waiting_.push_back(std::move(delivery));
    if (waiting_.size() == 1) wake_();
}

std::vector<Delivery> Inbox::drain() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
}

void Inbox::close() {
    std::vector<Delivery> dropped; // destroyed after the lock: their ends may come back here
    const std::lock_guard lock(mutex_);
    open_ = false;
    dropped.swap(waiting_);
}

Exchange::~Exchange() { release_stream(); }

void Exchange::deliver(Delivery::Kind kind, std::shared_ptr<const std::string> bytes) {
    inbox_->push({shared_from_this(), kind, {}, std::move(bytes)});
}

bool Exchange::answer(HttpResponse response) {
    if (answered_.exchange(true)) return false;
    inbox_->push({shared_from_this(), Delivery::Kind::answer, std::move(response), {}});
    return true;
}

Status Exchange::open_stream(const std::string& content_type) {
    REQUIRE(!answered_.load(), "a stream is opened instead of an answer");
    if (counters_->streams_open.fetch_add(1) >= streams_limit_) {
        counters_->streams_open.fetch_sub(1);
        return fail(Code::resource_exhausted,
                    "too many streams are open (limit " + std::to_string(streams_limit_) + ")",
                    "close watchers that are not needed, or poll instead");
    }
    counted_ = true;
    answered_ = true;
    HttpResponse head;
    head.content_type = content_type;
    inbox_->push({shared_from_this(), Delivery::Kind::open_stream, std::move(head), {}});
    return ok();
}

bool Exchange::write(std::shared_ptr<const std::string> bytes) {
    if (gone() || cut_.load()) return false;
    const std::size_t size = bytes->size();
    if (size == 0) return true;
    if (unsent_.fetch_add(size, std::memory_order_relaxed) + size > stream_bytes_max) {
        if (!cut_.exchange(true)) {
            counters_->streams_cut.fetch_add(1);
            deliver(Delivery::Kind::cut);
        }
        return false;
    }
    deliver(Delivery::Kind::bytes, std::move(bytes));
    return true;
}

void Exchange::close() { deliver(Delivery::Kind::close); }
void Exchange::droppable() { deliver(Delivery::Kind::droppable); }

void Exchange::on_gone(std::function<void()> call) {
    {
        const std::lock_guard lock(gone_mutex_);
        if (!gone_.load()) {
            gone_call_ = std::move(call);
            return;
        }
    }
    call();
}

void Exchange::leave(bool served) {
    receiver = nullptr;
    release_stream();
    std::function<void()> call;
    {
        const std::lock_guard lock(gone_mutex_);
        call.swap(gone_call_);
        gone_.store(true, std::memory_order_release);
    }
    if (!served && call) call();
}

void Exchange::release_stream() {
    if (counted_.exchange(false)) counters_->streams_open.fetch_sub(1);
}

} // namespace detail

HttpStream::HttpStream(std::shared_ptr<detail::Exchange> exchange)
    : exchange_(std::move(exchange)) {}

HttpStream& HttpStream::operator=(HttpStream&& other) noexcept {
    if (this == &other) return *this;
    close();
    exchange_ = std::move(other.exchange_);
    return *this;
}

HttpStream::~HttpStream() { close(); }

bool HttpStream::write(std::shared_ptr<const std::string> bytes) {
    return exchange_ != nullptr && exchange_->write(std::move(bytes));
}

bool HttpStream::write(std::string bytes) {
    return write(std::make_shared<const std::string>(std::move(bytes)));
}

bool HttpStream::gone() const { return exchange_ == nullptr || exchange_->gone(); }
std::size_t HttpStream::unsent() const { return exchange_ == nullptr ? 0 : exchange_->unsent(); }

void HttpStream::close() {
    if (exchange_ != nullptr) exchange_->close();
    exchange_.reset();
}

Responder::Responder(std::shared_ptr<detail::Exchange> exchange) : exchange_(std::move(exchange)) {}

namespace {
void drop(std::shared_ptr<detail::Exchange>& exchange) {
    if (exchange == nullptr) return;
    if (!exchange->answered())
        exchange->answer(error_response({Code::internal,
                                         "the request was dropped without an answer",
                                         "this is a bug of Muster: please report it",
                                         {}}));
    exchange.reset();
}
} // namespace

Responder& Responder::operator=(Responder&& other) noexcept {
    if (this == &other) return *this;
    drop(exchange_);
    exchange_ = std::move(other.exchange_);
    return *this;
}

Responder::~Responder() { drop(exchange_); }

void Responder::answer(HttpResponse response) {
    if (exchange_ != nullptr) exchange_->answer(std::move(response));
}

Result<HttpStream> Responder::stream(const std::string& content_type) {
    REQUIRE(exchange_ != nullptr, "a responder that was moved from opens no stream");
    if (auto opened = exchange_->open_stream(content_type); !opened) return fail(opened.error());
    return HttpStream(std::move(exchange_));
}

bool Responder::gone() const { return exchange_ == nullptr || exchange_->gone(); }

void Responder::on_gone(std::function<void()> call) {
    if (exchange_ != nullptr) exchange_->on_gone(std::move(call));
}

void Responder::droppable() {
    if (exchange_ != nullptr) exchange_->droppable();
}

} // namespace muster::http
