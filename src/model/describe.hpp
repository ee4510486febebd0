#pragma once
// MUSTER_DESCRIBE(Type, members...): the one description of a noun. JSON, YAML, the journal,
// tables, OpenAPI schemas and hashes come from it (codec/). Members that must be present in outside
// input are named by MUSTER_REQUIRED; all others default to their initialisers.

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include <array>
#include <string_view>

#define MUSTER_DESCRIBE(Type, ...) BOOST_DESCRIBE_STRUCT(Type, (), (__VA_ARGS__))
#define MUSTER_DESCRIBE_ENUM(Type, ...) BOOST_DESCRIBE_ENUM(Type, __VA_ARGS__)

/// Placed beside a described struct: the keys that outside input must give.
#define MUSTER_REQUIRED(Type, ...)                             \
    constexpr auto required_keys(const Type*) {                \
        return std::to_array<std::string_view>({__VA_ARGS__}); \
    }
