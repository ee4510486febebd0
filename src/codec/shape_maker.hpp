#pragma once
// How shapes are made from types. Included by codec/shape.hpp alone.

#include "codec/shape.hpp"

namespace muster::codec {

template <class T>
constexpr bool is_required(std::string_view name) {
    if constexpr (requires { required_keys(static_cast<const T*>(nullptr)); }) {
        for (const auto key : required_keys(static_cast<const T*>(nullptr)))
            if (key == name) return true;
    }
    return false;
}

template <class T, class Descriptor>
constexpr Member member_of() {
    using Type = std::remove_cvref_t<decltype(std::declval<T&>().*Descriptor::pointer)>;
    return {Descriptor::name, &shape_of<Type>, is_required<T>(Descriptor::name),
            [](void* record) -> void* { return &(static_cast<T*>(record)->*Descriptor::pointer); }};
}

template <class T, class Descriptors>
struct MembersOf;
template <class T, template <class...> class List, class... Descriptor>
struct MembersOf<T, List<Descriptor...>> {
    static constexpr std::array<Member, sizeof...(Descriptor)> value{member_of<T, Descriptor>()...};
};

template <class T, class Descriptors>
struct ValuesOf;
template <class T, template <class...> class List, class... Descriptor>
struct ValuesOf<T, List<Descriptor...>> {
    static constexpr std::array<EnumValue, sizeof...(Descriptor)> value{
        EnumValue{Descriptor::name, static_cast<std::int64_t>(Descriptor::value)}...};
};

/// Described structs and enums, numbers and bool; the rest are specialisations.
template <class T>
struct ShapeMaker {
    static constexpr bool record = boost::describe::has_describe_members<T>::value;
    static constexpr bool enumeration = boost::describe::has_describe_enumerators<T>::value;
    static_assert(record || enumeration || std::is_arithmetic_v<T>,
                  "this type has no shape: describe it (MUSTER_DESCRIBE), or use bool, integers, "
                  "double, string, Duration, Instant, Id, Name, optional, vector, map, variant");

    static constexpr Shape make() {
        if constexpr (std::is_same_v<T, bool>) {
            return {.kind = Kind::boolean};
        } else if constexpr (std::is_integral_v<T>) {
            return {.kind = Kind::integer, .size = sizeof(T), .is_signed = std::is_signed_v<T>};
        } else if constexpr (std::is_floating_point_v<T>) {
            static_assert(sizeof(T) == sizeof(double), "use double");
            return {.kind = Kind::floating, .size = sizeof(T)};
        } else if constexpr (enumeration) {
            return {.kind = Kind::enumeration,
                    .name = type_name<T>(),
                    .size = sizeof(T),
                    .values = ValuesOf<T, boost::describe::describe_enumerators<T>>::value};
        } else {
            using Members = boost::describe::describe_members<T, boost::describe::mod_public>;
            return {.kind = Kind::record,
                    .name = type_name<T>(),
                    .members = MembersOf<T, Members>::value};
        }
    }
};

template <>
struct ShapeMaker<std::string> {
    static constexpr Shape make() { return {.kind = Kind::string}; }
};
template <>
struct ShapeMaker<Duration> {
    static constexpr Shape make() { return {.kind = Kind::duration}; }
};
template <>
struct ShapeMaker<Instant> {
    static constexpr Shape make() { return {.kind = Kind::instant}; }
};
/// Walkers see an Id as its RawId and a Name as its string: their first and only members.
template <class Tag>
struct ShapeMaker<Id<Tag>> {
    static_assert(std::is_standard_layout_v<Id<Tag>>);
    static constexpr Shape make() { return {.kind = Kind::id}; }
};
template <class Tag>
struct ShapeMaker<Name<Tag>> {
    static_assert(std::is_standard_layout_v<Name<Tag>>);
    static constexpr Shape make() { return {.kind = Kind::name}; }
};

template <class E>
struct ShapeMaker<std::optional<E>> {
    using Type = std::optional<E>;
    static constexpr Shape make() {
        return {.kind = Kind::optional,
                .element = &shape_of<E>,
                .sequence = {
                    [](const void* o) -> std::size_t {
                        return static_cast<const Type*>(o)->has_value() ? 1 : 0;
                    },
                    [](const void* o, std::size_t) -> const void* {
                        return &**static_cast<const Type*>(o);
                    },
                    [](void* o) -> void* { return &static_cast<Type*>(o)->emplace(); },
                    [](void* o) { static_cast<Type*>(o)->reset(); },
                }};
    }
};

template <class E>
struct ShapeMaker<std::vector<E>> {
    static_assert(!std::is_same_v<E, bool>, "vector<bool> has no elements to point at");
    using Type = std::vector<E>;
    static constexpr Shape make() {
        return {.kind = Kind::list,
                .element = &shape_of<E>,
                .sequence = {
                    [](const void* v) { return static_cast<const Type*>(v)->size(); },
                    [](const void* v, std::size_t i) -> const void* {
                        return &(*static_cast<const Type*>(v))[i];
                    },
                    [](void* v) -> void* { return &static_cast<Type*>(v)->emplace_back(); },
                    [](void* v) { static_cast<Type*>(v)->clear(); },
                }};
    }
};

template <class K, class E>
struct ShapeMaker<std::map<K, E>> {
    using Type = std::map<K, E>;
    static void* add(void* map, void* context, FillKey fill) {
        K key{};
        if (!fill(context, &key)) return nullptr;
        return &(*static_cast<Type*>(map))[std::move(key)];
    }
    static void visit(const void* map, void* context, VisitEntry entry) {
        for (const auto& [key, value] : *static_cast<const Type*>(map))
            entry(context, &key, &value);
    }
    static constexpr Shape make() {
        constexpr Kind kind = ShapeMaker<K>::make().kind;
        static_assert(kind == Kind::string || kind == Kind::name || kind == Kind::id ||
                          kind == Kind::integer,
                      "keys of a map are strings, Names, Ids or integers");
        return {.kind = Kind::map,
                .key = &shape_of<K>,
                .element = &shape_of<E>,
                .map = {visit, add, [](void* m) { static_cast<Type*>(m)->clear(); },
                        [](const void* m) { return static_cast<const Type*>(m)->empty(); }}};
    }
};

template <class... Case>
struct ShapeMaker<std::variant<Case...>> {
    using Type = std::variant<Case...>;
    using Emplace = void* (*)(void*);
    static constexpr std::array<const Shape*, sizeof...(Case)> cases{&shape_of<Case>...};
    static constexpr std::array<Emplace, sizeof...(Case)> emplacers{
        [](void* v) -> void* { return &static_cast<Type*>(v)->template emplace<Case>(); }...};
    static const void* get(const void* variant) {
        return std::visit([](const auto& value) -> const void* { return &value; },
                          *static_cast<const Type*>(variant));
    }
    static constexpr Shape make() {
        return {.kind = Kind::variant,
                .cases = cases,
                .variant = {[](const void* v) { return static_cast<const Type*>(v)->index(); }, get,
                            [](void* v, std::size_t i) { return emplacers[i](v); }}};
    }
};

} // namespace muster::codec
