#pragma once
// Where the parts that belong to this binary lie: beside it in an installation, or in the build and
// source folders of a development tree.

#include <string>

namespace muster::app {

std::string own_executable();
/// libmuster.so; empty where it is not found.
std::string find_library();
/// The folder that holds the Python package `muster`; empty where it is not found.
std::string find_python_path();

} // namespace muster::app
