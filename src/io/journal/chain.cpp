#include "io/journal/chain.hpp"

#include "base/require.hpp"

#include <openssl/evp.h>

#include <cstring>

namespace muster::io {

std::string to_hex(const Hash& hash) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : hash) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

bool load(Hash& hash, std::string_view bytes) {
    if (bytes.size() != hash.size()) return false;
    std::memcpy(hash.data(), bytes.data(), bytes.size());
    return true;
}

Chain::Chain() : method_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
    REQUIRE(method_ != nullptr && context_ != nullptr, "OpenSSL offers no SHA-256");
}

Chain::~Chain() {
    EVP_MD_CTX_free(context_);
    EVP_MD_free(method_);
}

void Chain::begin() {
    REQUIRE(EVP_DigestInit_ex2(context_, method_, nullptr) == 1, "SHA-256 cannot begin");
}

void Chain::add(std::string_view bytes) { EVP_DigestUpdate(context_, bytes.data(), bytes.size()); }

void Chain::add(std::uint64_t number) {
    char bytes[8];
    for (std::size_t i = 0; i < sizeof bytes; ++i)
        bytes[i] = static_cast<char>(number >> (56 - 8 * i) & 0xff);
    add(std::string_view(bytes, sizeof bytes));
}

Hash Chain::end() {
    Hash hash;
    unsigned length = 0;
    EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(hash.data()), &length);
    REQUIRE(length == hash.size(), "SHA-256 has 32 bytes");
    return hash;
}

Hash Chain::next(const Hash& before, const ChainRow& row) {
    begin();
    add(view(before));
    add(static_cast<std::uint64_t>(row.sequence));
    add(static_cast<std::uint64_t>(row.at.ns));
    add(static_cast<std::uint64_t>(row.tag.size())); // where the tag ends and the body begins
    add(row.tag);
    add(row.body);
    return end();
}

Hash Chain::snapshot(const Hash& at_sequence, std::int64_t format, std::string_view body) {
    begin();
    add(view(at_sequence));
    add(static_cast<std::uint64_t>(format));
    add(body);
    return end();
}

} // namespace muster::io
