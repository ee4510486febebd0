#include "helpers.hpp"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>

namespace muster::io {
namespace {

Error spawn_error(std::vector<std::string> argv, const std::string& cwd = "/") {
    SpawnSpec spec;
    spec.argv = std::move(argv);
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.cwd = cwd;
    auto child = spawn(spec);
    EXPECT_FALSE(child.has_value());
    return child ? Error{} : child.error();
}

class Folder {
  public:
    Folder() {
        char name[] = "/tmp/muster-spawn-XXXXXX";
        path_ = ::mkdtemp(name);
    }
    ~Folder() { (void)!std::system(("rm -rf " + path_).c_str()); }
    std::string file(const std::string& name, const std::string& text, mode_t mode) const {
        const std::string path = path_ + "/" + name;
        std::ofstream(path) << text;
        ::chmod(path.c_str(), mode);
        return path;
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

TEST(Spawn, TellsExactlyWhyAProgramDoesNotStart) {
    const Folder folder;
    auto error = spawn_error({"/no/such/program"});
    EXPECT_EQ(error.code, Code::not_found);
    EXPECT_NE(error.message.find("No such file or directory"), std::string::npos) << error.message;

    error = spawn_error({"no-such-program-anywhere"});
    EXPECT_NE(error.message.find("no such program in PATH"), std::string::npos) << error.message;

    error = spawn_error({folder.file("plain", "#!/bin/sh\n", 0644)});
    EXPECT_EQ(error.code, Code::permission_denied);
    EXPECT_NE(error.message.find("Permission denied"), std::string::npos) << error.message;

    error = spawn_error({folder.path()});
    EXPECT_NE(error.message.find("it is a folder"), std::string::npos) << error.message;

    error = spawn_error({folder.file("orphan.py", "#!/no/such/python -u\n", 0755)});
    EXPECT_NE(error.message.find("its interpreter /no/such/python does not exist"),
              std::string::npos)
        << error.message;

    error = spawn_error({folder.file("bare", "echo hello\n", 0755)});
    EXPECT_EQ(error.code, Code::invalid_argument);
    EXPECT_NE(error.message.find("neither a program"), std::string::npos) << error.message;

    error = spawn_error({"/bin/true"}, "/no/such/folder");
    EXPECT_EQ(error.field, "workdir");

    error = spawn_error({});
    EXPECT_EQ(error.code, Code::invalid_argument);
    error = spawn_error({"/bin/true", std::string(200 * 1024, 'x')});
    EXPECT_NE(error.message.find("too long"), std::string::npos) << error.message;
}

TEST(Spawn, FindsAProgramByPathAndRelativeToTheWorkingFolder) {
    const Folder folder;
    folder.file("here.sh", "#!/bin/sh\necho found $0\n", 0755);
    SpawnSpec spec;
    spec.argv = {"./here.sh"};
    spec.env = {"PATH=/usr/bin:/bin"};
    spec.cwd = folder.path();
    auto child = spawn(spec);
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(reap(child->pidfd.get(), test_limit)->exit_code, 0);
}

TEST(Spawn, GivesTheChildACleanState) {
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    const int leaked = ::open("/dev/null", O_RDONLY); // on purpose without O_CLOEXEC
    Running child(shell("grep -E 'SigBlk|SigIgn' /proc/self/status | cut -f2 | tr '\\n' ' ';"
                        "ls /proc/self/fd | tr '\\n' ' '; cat /proc/self/oom_score_adj"),
                  nullptr);
    const std::string line = child.line();
    ::close(leaked);
    ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
    // ls itself holds one descriptor for the folder that it reads.
    EXPECT_EQ(line, "0000000000000000 0000000000000000 0 1 2 3 0");
    EXPECT_EQ(child.end()->exit_code, 0);
}

TEST(Spawn, TellsExitCodesAndSignalsApart) {
    Running coded(shell("exit 41"), nullptr);
    EXPECT_EQ(coded.end()->exit_code, 41);
    Running killed(shell("kill -SEGV $$"), nullptr);
    const auto exit = killed.end();
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->exit_code, 0);
    EXPECT_EQ(exit->signal, SIGSEGV);
}

TEST(Spawn, StandardInputIsEmpty) {
    Running child(shell("cat; echo done"), nullptr);
    EXPECT_EQ(child.line(), "done");
}

} // namespace
} // namespace muster::io
