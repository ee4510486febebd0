#include "io/journal/sqlite.hpp"

#include "io/posix/files.hpp"

#include <cerrno>
#include <sqlite3.h>

namespace muster::io {
namespace {

constexpr int busy_timeout_ms = 5'000; // another process may look at the journal meanwhile

Error error_of(sqlite3* handle, const std::string& path) {
    const int code = sqlite3_errcode(handle) & 0xff;
    const int system = sqlite3_system_errno(handle);
    const std::string cause =
        std::string(sqlite3_errmsg(handle)) + (system != 0 ? " (" + errno_text(system) + ")" : "");
    const std::string what = "journal " + path + ": ";
    switch (code) {
    case SQLITE_FULL:
        return {Code::resource_exhausted,
                what + "the disk is full (" + errno_text(system != 0 ? system : ENOSPC) + ")",
                "free space on its file system; Muster goes on by itself",
                {}};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return {Code::unavailable,
                what + "another process locks it",
                "end the program that has it open for writing",
                {}};
    case SQLITE_READONLY:
        return {Code::failed_precondition,
                what + "it cannot be written: " + cause,
                "make the folder and its files writable for this user, then start again",
                {}};
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
        return {Code::failed_precondition,
                what + "it cannot be opened: " + cause,
                "check that the folder exists and that this user may read and write it",
                {}};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return {Code::data_loss,
                what + "the file is damaged: " + cause,
                "restore it from a copy; keep the damaged file for recovery",
                {}};
    case SQLITE_IOERR:
        return {Code::internal,
                what + "reading or writing failed: " + cause,
                "check the disk and the kernel's log, then start again",
                {}};
    default: return {Code::internal, what + cause, {}, {}};
    }
}

} // namespace

void CloseDatabase::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
void EndStatement::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

void Statement::bind(int parameter, std::int64_t number) {
    sqlite3_bind_int64(handle_.get(), parameter, number);
}
void Statement::bind_text(int parameter, std::string_view text) {
    sqlite3_bind_text64(handle_.get(), parameter, text.data(), text.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
}
void Statement::bind_blob(int parameter, std::string_view bytes) {
    sqlite3_bind_blob64(handle_.get(), parameter, bytes.data(), bytes.size(), SQLITE_STATIC);
}

bool Statement::step() {
    const int code = sqlite3_step(handle_.get());
    failed_ = code != SQLITE_ROW && code != SQLITE_DONE;
    return code == SQLITE_ROW;
}

void Statement::reset() { sqlite3_reset(handle_.get()); }

std::int64_t Statement::integer(int column) { return sqlite3_column_int64(handle_.get(), column); }

std::string_view Statement::bytes(int column) {
    const void* data = sqlite3_column_blob(handle_.get(), column);
    const int size = sqlite3_column_bytes(handle_.get(), column);
    if (data == nullptr) return {};
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Result<Database> Database::open(const std::string& path, OpenMode mode) {
    const int flags =
        SQLITE_OPEN_NOMUTEX | (mode == OpenMode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                        : SQLITE_OPEN_READONLY);
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    Database database(handle, path);
    if (code != SQLITE_OK) return fail(database.error());
    sqlite3_busy_timeout(handle, busy_timeout_ms);
    return database;
}

Status Database::run(const std::string& sql) {
    if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return fail(error());
    return ok();
}

Result<Statement> Database::prepare(const std::string& sql) {
    sqlite3_stmt* handle = nullptr;
    if (sqlite3_prepare_v3(handle_.get(), sql.c_str(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &handle, nullptr) != SQLITE_OK)
        return fail(error());
    return Statement(handle);
}

Result<std::int64_t> Database::number(const std::string& sql) {
    auto statement = prepare(sql);
    if (!statement) return fail(statement.error());
    if (!statement->step()) return statement->failed() ? Result<std::int64_t>(fail(error())) : 0;
    return statement->integer(0);
}

Error Database::error() const {
    if (!handle_) return {Code::internal, "journal " + path_ + ": out of memory", {}, {}};
    return error_of(handle_.get(), path_);
}

bool Database::error_may_pass() const {
    const int code = sqlite3_errcode(handle_.get()) & 0xff;
    return code == SQLITE_FULL || code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

} // namespace muster::io
