#pragma once
// Database and Statement: as much of SQLite as the journal needs, with our errors.
// Life: statements end before their database. One thread at a time.

#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace muster::io {

enum class OpenMode { create, read_only };

struct CloseDatabase {
    void operator()(sqlite3* handle) const;
};
struct EndStatement {
    void operator()(sqlite3_stmt* handle) const;
};

class Statement {
  public:
    explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

    /// Parameters count from 1. Texts and blobs must live until the statement is reset.
    void bind(int parameter, std::int64_t number);
    void bind_text(int parameter, std::string_view text);
    void bind_blob(int parameter, std::string_view bytes);
    /// True: there is a row; false: done. SQLite's code on an error is in Database::code().
    bool step();
    void reset();
    bool failed() const { return failed_; }

    /// Columns count from 0; views are valid until the next step or reset.
    std::int64_t integer(int column);
    std::string_view bytes(int column);

  private:
    std::unique_ptr<sqlite3_stmt, EndStatement> handle_;
    bool failed_ = false;
};

class Database {
  public:
    static Result<Database> open(const std::string& path, OpenMode mode);

    /// One or more statements without rows of interest.
    Status run(const std::string& sql);
    Result<Statement> prepare(const std::string& sql);
    /// The single integer that a query gives.
    Result<std::int64_t> number(const std::string& sql);

    /// The newest error in our terms.
    Error error() const;
    /// True where the newest error may pass by itself: a full disk, a lock held by another process.
    bool error_may_pass() const;
    const std::string& path() const { return path_; }

  private:
    Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

    std::unique_ptr<sqlite3, CloseDatabase> handle_;
    std::string path_;
};

} // namespace muster::io
