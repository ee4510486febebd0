#pragma once
// Action: a move-only callable without arguments, with room for small captures. Events are made by
// the hundred thousand a second, so the common ones must not allocate.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace muster::sim {

class Action {
  public:
    Action() = default;

    template <class F>
        requires(!std::is_same_v<std::decay_t<F>, Action>)
    Action(F&& function) { // NOLINT(google-explicit-constructor): a lambda is an action
        using Stored = std::decay_t<F>;
        static_assert(alignof(Stored) <= alignof(std::max_align_t));
        if constexpr (sizeof(Stored) <= room && std::is_nothrow_move_constructible_v<Stored>) {
            new (space_) Stored(std::forward<F>(function));
            table_ = &inline_table<Stored>;
        } else {
            *reinterpret_cast<Stored**>(space_) = new Stored(std::forward<F>(function));
            table_ = &heap_table<Stored>;
        }
    }
    Action(Action&& other) noexcept : table_(other.table_) {
        if (table_ != nullptr) table_->move(other.space_, space_);
        other.table_ = nullptr;
    }
    Action& operator=(Action&& other) noexcept {
        if (this == &other) return *this;
        if (table_ != nullptr) table_->destroy(space_);
        table_ = other.table_;
        if (table_ != nullptr) table_->move(other.space_, space_);
        other.table_ = nullptr;
        return *this;
    }
    Action(const Action&) = delete;
    Action& operator=(const Action&) = delete;
    ~Action() {
        if (table_ != nullptr) table_->destroy(space_);
    }

    void operator()() { table_->call(space_); }

  private:
    static constexpr std::size_t room = 64;

    struct Table {
        void (*call)(void*);
        void (*move)(void* from, void* to); // leaves nothing behind
        void (*destroy)(void*);
    };
    template <class F>
    static constexpr Table inline_table{[](void* at) { (*static_cast<F*>(at))(); },
                                        [](void* from, void* to) {
                                            new (to) F(std::move(*static_cast<F*>(from)));
                                            static_cast<F*>(from)->~F();
                                        },
                                        [](void* at) { static_cast<F*>(at)->~F(); }};
    template <class F>
    static constexpr Table heap_table{
        [](void* at) { (**static_cast<F**>(at))(); },
        [](void* from, void* to) { *static_cast<F**>(to) = *static_cast<F**>(from); },
        [](void* at) { delete *static_cast<F**>(at); }};

    alignas(std::max_align_t) std::byte space_[room];
    const Table* table_ = nullptr;
};

} // namespace muster::sim
