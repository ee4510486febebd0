#include "codec/json.hpp"

namespace muster::codec {
namespace {

void new_line(std::string& out, std::size_t depth) {
    out += '\n';
    out.append(depth * 2, ' ');
}

} // namespace

std::string pretty_json(std::string_view text) {
    std::string out;
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            out += c;
            if (c == '\\' && i + 1 < text.size())
                out += text[++i];
            else if (c == '"')
                in_string = false;
            continue;
        }
        const char following = i + 1 < text.size() ? text[i + 1] : '\0';
        switch (c) {
        case ' ':
        case '\n':
        case '\r':
        case '\t': break;
        case '{':
        case '[':
            out += c;
            if (following == '}' || following == ']') {
                out += following;
                ++i;
            } else {
                new_line(out, ++depth);
            }
            break;
        case '}':
        case ']':
            new_line(out, depth == 0 ? 0 : --depth);
            out += c;
            break;
        case ',':
            out += c;
            new_line(out, depth);
            break;
        case ':': out += ": "; break;
        default: in_string = c == '"'; out += c;
        }
    }
    return out;
}

} // namespace muster::codec
