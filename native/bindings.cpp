// Where Python meets the engine: array contracts in types, checks of sizes, release of the interpreter lock.
// Arrays come checked and contiguous from Python; nothing is converted here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "arrays.hpp"

using namespace nb::literals;

namespace {

using epitomes::Codes;
using epitomes::Engine;

template <class T>
using Triple = std::tuple<Out1<std::int32_t>, Out1<std::int32_t>, Out1<T>>;  // counts, atoms, values
// Codes by rows: begins that rise within the entries, and atoms of a dictionary of p.
void require_compressed(const In1<std::int64_t>& begin, const In1<std::int32_t>& atoms, std::size_t p) {
    const std::int64_t size = std::int64_t(atoms.shape(0));
    require(begin.data()[0] >= 0, "codes are not a compressed matrix");
    for (std::size_t i = 0; i + 1 < begin.shape(0); i++)
        require(begin.data()[i] <= begin.data()[i + 1] && begin.data()[i + 1] <= size, "codes are not a compressed matrix");
    for (std::int64_t k = 0; k < size; k++)
        require(0 <= atoms.data()[k] && std::size_t(atoms.data()[k]) < p, "codes name an atom that is not there");
}

template <class T>
const epitomes::Kernels<T>& kernels_at(std::size_t isa);
template <>
const epitomes::Kernels<float>& kernels_at<float>(std::size_t isa) { return isa_at(isa).single; }
template <>
const epitomes::Kernels<double>& kernels_at<double>(std::size_t isa) { return isa_at(isa).full; }

// Hands malloc'ed memory to NumPy, which frees it.
template <class T>
Out1<T> own(T* data, std::size_t n) {
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    return Out1<T>(data, {n}, owner);
}
template <class T>
Triple<T> own(Codes<T> codes) {
    return {own(codes.counts, codes.n_rows), own(codes.atoms, codes.n_values), own(codes.values, codes.n_values)};
}

// A prepared dictionary: see engine.hpp.
template <class T>
class Prepared {
   public:
    Prepared(std::size_t isa, In2<T> unit, In1<T> norms, const std::vector<In3<T>>& pictures, std::size_t patch_height,
             std::size_t patch_width, bool dense_gram)
        : m_(unit.shape(1)), p_(unit.shape(0)), height_(patch_height), width_(patch_width) {
        require(p_ > 0 && m_ > 0 && norms.shape(0) == p_ && p_ < (std::size_t(1) << 31), "atoms and norms do not agree");
        std::vector<epitomes::Picture<T>> views;
        std::size_t n_windows = 0;
        for (const In3<T>& picture : pictures) {
            require(picture.shape(0) >= height_ && picture.shape(1) >= width_, "a picture is smaller than the patch");
            if (views.empty()) channels_ = picture.shape(2);
            require(picture.shape(2) == channels_, "pictures differ in their channels");
            views.push_back({picture.data(), picture.shape(0), picture.shape(1)});
            n_windows += (picture.shape(0) - height_ + 1) * (picture.shape(1) - width_ + 1);
        }
        require(views.empty() || (n_windows == p_ && height_ * width_ * channels_ == m_), "pictures and atoms do not agree");
        const epitomes::AtomsView<T> view{unit.data(),   norms.data(), p_,     m_,        views.data(),
                                          views.size(), height_,      width_, channels_, dense_gram};
        const auto make = kernels_at<T>(isa).make_engine;
        nb::gil_scoped_release release;
        engine_ = make(view);
    }

    bool structural() const { return engine_->structural(); }

    Triple<T> pursue(nb::tuple source, double residual, std::size_t n_nonzero, bool least_squares, Flag stop) const {
        return coded(source, stop, [&](const auto& patches, epitomes::Stop flag) {
            return engine_->pursue(patches, {residual, n_nonzero, least_squares}, flag);
        });
    }
    Triple<T> lasso(nb::tuple source, double lam, double tol, bool positive, nb::object start, Flag stop) const {
        const StartArrays arrays = start_of(start, size_of(source));
        return coded(source, stop, [&](const auto& patches, epitomes::Stop flag) {
            return engine_->lasso(patches, {lam, tol, positive}, arrays.view, flag);
        });
    }
    Triple<T> lasso_lars(nb::tuple source, double lam, double tol, bool positive, Flag stop) const {
        return coded(source, stop, [&](const auto& patches, epitomes::Stop flag) {
            return engine_->lasso_lars(patches, {lam, tol, positive}, flag);
        });
    }
    std::tuple<Out1<double>, Out1<std::int32_t>, Out1<std::int32_t>, Out1<T>> path(In1<T> row, double lam, double tol, bool positive) const {
        require(row.shape(0) == m_, "the patch and the atoms differ in length");
        epitomes::Path<T> path;
        {
            nb::gil_scoped_release release;
            path = engine_->path(row.data(), {lam, tol, positive});
        }
        auto [counts, atoms, values] = own(path.codes);
        return {own(path.lams, path.codes.n_rows), counts, atoms, values};
    }

    // Correlations with the unit atoms, (n, p); without keep they are computed and dropped, and n is 0.
    Out2<T> correlate(nb::tuple source, bool keep) const {
        const std::size_t n = keep ? size_of(source) : 0;
        std::size_t bytes;
        if (__builtin_mul_overflow(n, p_ * sizeof(T), &bytes)) throw std::bad_alloc();
        T* out = static_cast<T*>(std::malloc(bytes + 1));
        if (out == nullptr) throw std::bad_alloc();
        nb::capsule owner(out, [](void* p) noexcept { std::free(p); });
        with_source(source, [&](const auto& patches) {
            nb::gil_scoped_release release;
            engine_->correlate(patches, keep ? out : nullptr);
        });
        return Out2<T>(out, {n, p_}, owner);
    }

   private:
    // A source is (rows, mask or None) or (image, tops, first, last, centred).
    template <class Work>
    void with_source(const nb::tuple& source, Work work) const {
        if (source.size() == 2) {
            const auto rows = nb::cast<In2<T>>(source[0], false);
            require(rows.shape(1) == m_, "patches and atoms differ in length");
            In2<std::uint8_t> mask;
            if (!source[1].is_none()) {
                mask = nb::cast<In2<std::uint8_t>>(source[1], false);
                require(mask.shape(0) == rows.shape(0) && mask.shape(1) == m_, "mask and patches differ in shape");
            }
            work(epitomes::Rows<T>{rows.data(), mask.is_valid() ? mask.data() : nullptr, rows.shape(0)});
        } else {
            require(source.size() == 5, "a source is (rows, mask) or (image, tops, first, last, centred)");
            const auto image = nb::cast<In3<T>>(source[0], false);
            const auto tops = nb::cast<In1<std::int64_t>>(source[1], false);
            work(windows_of(image, tops, nb::cast<std::size_t>(source[2]), nb::cast<std::size_t>(source[3]), nb::cast<bool>(source[4])));
        }
    }
    static std::size_t size_of(const nb::tuple& source) {
        if (source.size() == 2) return nb::cast<In2<T>>(source[0], false).shape(0);
        const auto first = nb::cast<std::size_t>(source[2]), last = nb::cast<std::size_t>(source[3]);
        require(first <= last, "the range of windows runs backwards");
        return last - first;
    }
    template <class Work>
    Triple<T> coded(const nb::tuple& source, const Flag& flag, Work work) const {
        require(flag.shape(0) == 1, "the stop flag needs one value");
        const epitomes::Stop stop{flag.data()};
        Codes<T> codes{};
        with_source(source, [&](const auto& patches) {
            nb::gil_scoped_release release;
            codes = work(patches, stop);
        });
        return own(codes);
    }
    epitomes::Windows<T> windows_of(const In3<T>& image, const In1<std::int64_t>& tops, std::size_t first, std::size_t last, bool centred) const {
        require(engine_->structural(), "these atoms have no pictures to correlate windows with");
        require(image.shape(2) == channels_ && image.shape(1) >= width_ && image.shape(0) >= height_, "image and patch do not agree");
        const std::size_t n_across = image.shape(1) - width_ + 1;
        require(first <= last && last <= tops.shape(0) * n_across, "the range of windows leaves the image");
        for (std::size_t i = 0; i < tops.shape(0); i++)
            require(tops.data()[i] >= 0 && std::size_t(tops.data()[i]) + height_ <= image.shape(0), "a window leaves the image");
        return {image.data(), image.shape(1) * channels_, tops.data(), n_across, first, last, centred};
    }

    struct StartArrays {
        In1<std::int64_t> begin;
        In1<std::int32_t> atoms;
        In1<T> values;
        epitomes::Start<T> view{nullptr, nullptr, nullptr};
    };
    StartArrays start_of(const nb::object& start, std::size_t n) const {
        StartArrays arrays;
        if (start.is_none()) return arrays;
        arrays.begin = nb::cast<In1<std::int64_t>>(start[0], false);
        arrays.atoms = nb::cast<In1<std::int32_t>>(start[1], false);
        arrays.values = nb::cast<In1<T>>(start[2], false);
        require(arrays.begin.shape(0) == n + 1, "start and patches differ in number");
        require(arrays.values.shape(0) == arrays.atoms.shape(0), "start is not a compressed matrix");
        require_compressed(arrays.begin, arrays.atoms, p_);
        arrays.view = {arrays.begin.data(), arrays.atoms.data(), arrays.values.data()};
        return arrays;
    }

    std::size_t m_, p_, height_, width_, channels_ = 1;
    std::unique_ptr<Engine<T>> engine_;
};

template <class T>
void check_places(std::size_t size, const In1<std::int64_t>& starts, const In1<std::int64_t>& offsets) {
    std::int64_t low = 0, high = 0;
    for (std::size_t k = 0; k < offsets.shape(0); k++) {
        low = offsets.data()[k] < low ? offsets.data()[k] : low;
        high = offsets.data()[k] > high ? offsets.data()[k] : high;
    }
    for (std::size_t i = 0; i < starts.shape(0); i++)
        require(starts.data()[i] + low >= 0 && starts.data()[i] + high < std::int64_t(size), "a patch leaves the image");
}

template <class T>
std::tuple<Out2<T>, Out1<T>> gather(std::size_t isa, In1<T> image, In1<std::int64_t> starts, In1<std::int64_t> offsets, bool centre) {
    check_places<T>(image.shape(0), starts, offsets);
    const std::size_t n = starts.shape(0), m = offsets.shape(0);
    std::size_t bytes;
    if (__builtin_mul_overflow(n, m, &bytes) || __builtin_mul_overflow(bytes, sizeof(T), &bytes)) throw std::bad_alloc();
    T* rows = static_cast<T*>(std::malloc(bytes + 1));
    T* means = static_cast<T*>(std::malloc(n * sizeof(T) + 1));
    if (rows == nullptr || means == nullptr) {
        std::free(rows);
        std::free(means);
        throw std::bad_alloc();
    }
    nb::capsule owner(rows, [](void* p) noexcept { std::free(p); });
    Out1<T> owned_means = own(means, n);
    {
        const auto kernel = kernels_at<T>(isa).gather;
        nb::gil_scoped_release release;
        kernel(image.data(), starts.data(), n, offsets.data(), m, centre, rows, means);
    }
    return {Out2<T>(rows, {n, m}, owner), owned_means};
}

template <class T>
void scatter(std::size_t isa, Changed1<double> total, Changed1<double> weight, In1<std::int64_t> starts, In1<std::int64_t> offsets,
             In2<T> rows, In1<T> weights) {
    require(total.shape(0) == weight.shape(0), "total and weight differ in size");
    require(rows.shape(0) == starts.shape(0) && rows.shape(1) == offsets.shape(0) && weights.shape(0) == starts.shape(0),
            "patches, places and weights do not agree");
    check_places<T>(total.shape(0), starts, offsets);
    const auto kernel = kernels_at<T>(isa).scatter;
    nb::gil_scoped_release release;
    kernel(total.data(), weight.data(), starts.data(), starts.shape(0), offsets.data(), offsets.shape(0), rows.data(), weights.data());
}

template <class T>
void summarise(std::size_t isa, In2<T> rows, In1<std::int64_t> begin, In1<std::int32_t> atoms, In1<T> values, std::size_t first,
               std::size_t last, Changed2<double> gram, Changed2<double> cross, Changed1<double> mass) {
    const std::size_t n = rows.shape(0), m = rows.shape(1), p = mass.shape(0);
    require(gram.shape(0) == p && gram.shape(1) == p && cross.shape(0) == p && cross.shape(1) == m, "the sums do not agree");
    require(first <= last && last <= p, "the range of atoms leaves the dictionary");
    require(begin.shape(0) == n + 1 && atoms.shape(0) == values.shape(0), "codes and rows do not agree");
    require_compressed(begin, atoms, p);
    const auto kernel = kernels_at<T>(isa).summarise;
    nb::gil_scoped_release release;
    kernel(rows.data(), n, m, {begin.data(), atoms.data(), values.data()}, first, last, p, gram.data(), cross.data(), mass.data());
}

template <class T>
void update_atoms(std::size_t isa, Changed2<T> residual, In1<std::int64_t> begin, In1<std::int32_t> users, Changed1<T> values,
                  Changed2<T> atoms, bool exact, Flag stop) {
    const std::size_t n = residual.shape(0), m = residual.shape(1), p = atoms.shape(0);
    require(atoms.shape(1) == m && begin.shape(0) == p + 1 && users.shape(0) == values.shape(0), "codes, rows and atoms do not agree");
    require(stop.shape(0) == 1, "the stop flag needs one value");
    require_compressed(begin, users, n);
    const auto kernel = kernels_at<T>(isa).update_atoms;
    nb::gil_scoped_release release;
    kernel(residual.data(), m, begin.data(), users.data(), values.data(), atoms.data(), p, exact, {stop.data()});
}

void multiply(std::size_t isa, In2<double> left, In2<double> right, Changed2<double> out) {
    const std::size_t n = left.shape(0), inner = left.shape(1), width = right.shape(1);
    require(right.shape(0) == inner && out.shape(0) == n && out.shape(1) == width, "the matrices do not agree");
    const auto kernel = isa_at(isa).multiply;
    nb::gil_scoped_release release;
    kernel(left.data(), n, inner, right.data(), width, out.data());
}

template <class T>
void bind(nb::module_& m, const char* name) {
    using P = Prepared<T>;
    nb::class_<P>(m, name)
        .def(nb::init<std::size_t, In2<T>, In1<T>, const std::vector<In3<T>>&, std::size_t, std::size_t, bool>(), "isa"_a,
             "unit"_a.noconvert(), "norms"_a.noconvert(), "pictures"_a, "patch_height"_a, "patch_width"_a, "dense_gram"_a)
        .def_prop_ro("structural", &P::structural)
        .def("pursue", &P::pursue, "source"_a, "residual"_a, "n_nonzero"_a, "least_squares"_a, "stop"_a.noconvert())
        .def("lasso", &P::lasso, "source"_a, "lam"_a, "tol"_a, "positive"_a, "start"_a.none(), "stop"_a.noconvert())
        .def("lasso_lars", &P::lasso_lars, "source"_a, "lam"_a, "tol"_a, "positive"_a, "stop"_a.noconvert())
        .def("path", &P::path, "row"_a.noconvert(), "lam"_a, "tol"_a, "positive"_a)
        .def("correlate", &P::correlate, "source"_a, "keep"_a = true);
    m.def("gather", &gather<T>, "isa"_a, "image"_a.noconvert(), "starts"_a.noconvert(), "offsets"_a.noconvert(), "centre"_a);
    m.def("scatter", &scatter<T>, "isa"_a, "total"_a.noconvert(), "weight"_a.noconvert(), "starts"_a.noconvert(), "offsets"_a.noconvert(),
          "rows"_a.noconvert(), "weights"_a.noconvert());
    m.def("summarise", &summarise<T>, "isa"_a, "rows"_a.noconvert(), "begin"_a.noconvert(), "atoms"_a.noconvert(), "values"_a.noconvert(),
          "first"_a, "last"_a, "gram"_a.noconvert(), "cross"_a.noconvert(), "mass"_a.noconvert());
    m.def("update_atoms", &update_atoms<T>, "isa"_a, "residual"_a.noconvert(), "begin"_a.noconvert(), "users"_a.noconvert(),
          "values"_a.noconvert(), "atoms"_a.noconvert(), "exact"_a, "stop"_a.noconvert());
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "Loops over patches. Use epitomes.kernels, which checks what comes in.";
    bind<float>(m, "Engine32");
    bind<double>(m, "Engine64");
    bind_groups(m);
    m.def("multiply", &multiply, "isa"_a, "left"_a.noconvert(), "right"_a.noconvert(), "out"_a.noconvert());
    m.def("isas", [] {
        std::size_t count;
        const epitomes::Isa* const* sets = epitomes::runnable_isas(&count);
        std::vector<std::string> names;
        for (std::size_t i = 0; i < count; i++) names.emplace_back(sets[i]->name);
        return names;
    }, "Instruction sets that were compiled and that this processor runs, best last.");
}
