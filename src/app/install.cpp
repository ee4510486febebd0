#include "app/install.hpp"

#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <unistd.h>

namespace muster::app {
namespace {

std::string first_there(std::initializer_list<std::string> paths) {
    for (const auto& path : paths) {
        char real[PATH_MAX] = {};
        if (::realpath(path.c_str(), real) != nullptr) return real;
    }
    return {};
}

std::string own_folder() {
    const std::string path = own_executable();
    return path.substr(0, path.rfind('/'));
}

} // namespace

std::string own_executable() {
    char path[PATH_MAX] = {};
    const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
    return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "muster";
}

std::string find_library() {
    const std::string here = own_folder();
    return first_there({here + "/libmuster.so", here + "/../lib/libmuster.so",
                        here + "/../lib/muster/libmuster.so", here + "/../../lib/libmuster.so",
                        MUSTER_BUILD_LIBRARY});
}

std::string find_python_path() {
    const std::string here = own_folder();
    for (const auto& folder : {here + "/../share/muster/python", std::string(MUSTER_SOURCE_PYTHON)})
        if (!first_there({folder + "/muster/__init__.py"}).empty()) return first_there({folder});
    return {};
}

} // namespace muster::app
