#include "app/result_file.hpp"

#include "codec/json.hpp"

namespace muster::app {
namespace {

void shorten(std::optional<ExitCause>& cause) {
    if (!cause) return;
    cause->last_lines.clear();
    cause->traceback.clear();
    cause->consequences.clear();
}

} // namespace

Status ResultFile::reserve() {
    auto taken = io::ReservedFile::take(path_, result_bytes_reserved);
    if (!taken) return fail(taken.error());
    reserved_.emplace(std::move(*taken));
    return ok();
}

Status ResultFile::put(const LauncherResult& result) {
    const std::string text = codec::to_json(result, codec::Style::exact);
    return reserved_ ? reserved_->write(text) : io::write_file_atomically(path_, text);
}

Status ResultFile::write(const LauncherResult& result) {
    Status written = put(result);
    if (written || written.error().code != Code::resource_exhausted) return written;
    LauncherResult shorter = result;
    shorten(shorter.cause);
    for (auto& generation : shorter.generations) shorten(generation.cause);
    if (written = put(shorter); written) return written;
    if (shorter.generations.size() > 1)
        shorter.generations.erase(shorter.generations.begin(), shorter.generations.end() - 1);
    return put(shorter);
}

} // namespace muster::app
