#pragma once
// Text to Boost.JSON's DOM with our limits; for the .cpp files of this folder.

#include "base/result.hpp"
#include "codec/json.hpp"

#include <string_view>

namespace boost::json {
class value;
}

namespace muster::codec {

/// Calls `use` with the document, which lives in a buffer of this thread until `use` returns.
/// `use` must not parse another document.
Status with_document(std::string_view text, std::size_t bytes_max, void* context,
                     Status (*use)(void* context, const boost::json::value& document));

} // namespace muster::codec
