#pragma once
// Schemas: JSON schemas of described types for OpenAPI's components.schemas, named by type.
//
//     Schemas schemas;
//     std::string body = schemas.use<WorkloadSpec>();  //
//     {"$ref":"#/components/schemas/WorkloadSpec"} std::string all = schemas.components(); //
//     {"Role":{...},"WorkloadSpec":{...}}
//
// Life: while one document is written. Two types with one name break a REQUIRE.

#include "codec/shape.hpp"

#include <map>
#include <string>

namespace muster::codec {

class Schemas {
  public:
    /// The schema to write where a T stands; takes up T's types for components().
    template <class T>
    std::string use() {
        return use(shape_of<T>);
    }
    std::string use(const Shape& shape);
    /// A JSON object of everything taken up, sorted by name.
    std::string components() const;

  private:
    std::string reference(const Shape& shape);
    std::string record(const Shape& shape, bool tagged);
    std::string variant(const Shape& shape);

    struct Known {
        const Shape* shape;
        std::string schema;
    };
    std::map<std::string, Known, std::less<>> known_;
};

} // namespace muster::codec
