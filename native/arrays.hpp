// What the files that know Python share: array types, checks, instruction sets by number.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>

#include "engine.hpp"

namespace nb = nanobind;

template <class T>
using In1 = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using In3 = nb::ndarray<const T, nb::numpy, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Changed1 = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Changed2 = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Changed3 = nb::ndarray<T, nb::numpy, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig>;
template <class T>
using Out2 = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig>;
using Flag = In1<std::uint8_t>;

inline void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

inline const epitomes::Isa& isa_at(std::size_t index) {
    std::size_t count;
    const epitomes::Isa* const* sets = epitomes::runnable_isas(&count);
    require(index < count, "no such instruction set on this processor");
    return *sets[index];
}

void bind_groups(nb::module_& m);  // block matching and groups, in bindings_groups.cpp
