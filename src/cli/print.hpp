#pragma once
// Printing of described values as -o asks.

#include "cli/flags.hpp"
#include "codec/json.hpp"
#include "codec/yaml.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace muster::cli {

inline void print_text(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!text.empty() && text.back() != '\n') std::fputc('\n', stdout);
    std::fflush(stdout);
}

/// For -o json and -o yaml.
template <class T>
std::string as_document(const T& value, Output output) {
    if (output == Output::yaml) return codec::to_yaml(value);
    return codec::pretty_json(codec::to_json(value));
}

/// The name of an enum's value, as in JSON.
template <class Enum>
std::string word_of(Enum value) {
    const std::string quoted = codec::to_json(value);
    return quoted.substr(1, quoted.size() - 2);
}

inline bool is_document(Output output) { return output == Output::json || output == Output::yaml; }

} // namespace muster::cli
