#pragma once
// Shape: what a type looks like, as constant data made from its description. JSON, YAML, tables and
// schemas walk shapes at run time, so that no user of the codec pays for templates beyond the data.
//
//     shape_of<AgentBeat>.members[3].name
//
// A type without a shape does not compile: "has no shape" names what is supported.

#include "base/id.hpp"
#include "base/time.hpp"

#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace muster::codec {

enum class Kind {
    boolean,
    integer,
    floating,
    string,
    duration,
    instant,
    id,
    name,
    enumeration,
    optional,
    list,
    map,
    variant,
    record,
};

struct Shape;

struct Member {
    std::string_view name;
    const Shape* shape;
    bool required;
    void* (*at)(void* record);
};

struct EnumValue {
    std::string_view name;
    std::int64_t value;
};

/// Optional: zero or one element. List: elements by position. `element` of Shape says what they
/// are.
struct SequenceOps {
    std::size_t (*size)(const void* sequence);
    const void* (*at)(const void* sequence, std::size_t index);
    void* (*add)(void* sequence);
    void (*clear)(void* sequence);
};

/// Receives key and value of each entry; `context` is the caller's.
using VisitEntry = void (*)(void* context, const void* key, const void* value);
/// Fills the key of a new entry; false: there is none.
using FillKey = bool (*)(void* context, void* key);
struct MapOps {
    void (*visit)(const void* map, void* context, VisitEntry entry);
    /// The value of the entry, default made where it is new; null where the key was refused.
    void* (*add)(void* map, void* context, FillKey fill);
    void (*clear)(void* map);
    bool (*empty)(const void* map);
};

struct VariantOps {
    std::size_t (*index)(const void* variant);
    const void* (*get)(const void* variant);
    void* (*emplace)(void* variant, std::size_t index);
};

/// One kind uses only some of these; the others are empty.
struct Shape {
    Kind kind;
    std::string_view name{};               // record, enumeration: without namespace
    std::size_t size = 0;                  // integer, floating, enumeration: bytes
    bool is_signed = true;                 // integer
    std::span<const Member> members{};     // record
    std::span<const EnumValue> values{};   // enumeration
    const Shape* key = nullptr;            // map
    const Shape* element = nullptr;        // optional, list, map
    std::span<const Shape* const> cases{}; // variant: records, the tag is their name
    SequenceOps sequence{};                // optional, list
    MapOps map{};                          // map
    VariantOps variant{};                  // variant
};

/// "NodeJoined" for muster::NodeJoined.
template <class T>
constexpr std::string_view type_name() {
    constexpr std::string_view text = __PRETTY_FUNCTION__;
    constexpr std::string_view mark = "T = ";
    constexpr std::size_t start = text.find(mark) + mark.size();
    constexpr std::string_view rest = text.substr(start, text.find_first_of(";]", start) - start);
    constexpr std::size_t colon = rest.rfind("::");
    return colon == std::string_view::npos ? rest : rest.substr(colon + 2);
}

template <class T>
struct ShapeMaker;

template <class T>
inline constexpr Shape shape_of = ShapeMaker<T>::make();

} // namespace muster::codec

#include "codec/shape_maker.hpp"
