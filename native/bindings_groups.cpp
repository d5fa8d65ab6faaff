// Where Python meets block matching and groups. Arrays come checked and contiguous from Python; places are checked here.
#include <nanobind/stl/array.h>

#include <array>

#include "arrays.hpp"

using namespace nb::literals;

namespace {

template <class T>
using In4 = nb::ndarray<const T, nb::numpy, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Sizes = std::array<std::size_t, 3>;

// Matches of the references at `tops` x `lefts` of one plane, into places and distances (n_tops * n_lefts, n_matches).
void match(std::size_t isa, In4<float> image, Sizes patch, Sizes reach, std::size_t plane, In1<std::int64_t> tops, In1<std::int64_t> lefts,
           Flag stop, Changed2<std::int32_t> places, Changed2<float> distances) {
    const std::size_t n_tops = tops.shape(0), n_lefts = lefts.shape(0), n_matches = places.shape(1);
    for (std::size_t a = 0; a < 3; a++) require(patch[a] > 0 && patch[a] <= image.shape(a + 1), "the patch is larger than the image");
    for (std::size_t a = 0; a < 3; a++) require(reach[a] < (std::size_t(1) << 20), "the window is too large");
    require(image.shape(1) * image.shape(2) * image.shape(3) < (std::size_t(1) << 31), "the image is too large");
    require(stop.shape(0) == 1, "the stop flag needs one value");
    require(n_matches > 0 && places.shape(0) == n_tops * n_lefts && distances.shape(0) == places.shape(0) && distances.shape(1) == n_matches,
            "references and matches do not agree");
    require(plane <= image.shape(1) - patch[0], "a reference leaves the image");
    for (std::size_t i = 0; i < n_tops; i++)
        require(tops.data()[i] >= 0 && std::size_t(tops.data()[i]) + patch[1] <= image.shape(2), "a reference leaves the image");
    for (std::size_t i = 0; i < n_lefts; i++)
        require(lefts.data()[i] >= 0 && std::size_t(lefts.data()[i]) + patch[2] <= image.shape(3), "a reference leaves the image");
    const epitomes::Search search{image.data(), image.shape(0), image.shape(1), image.shape(2), image.shape(3), patch[0],     patch[1], patch[2],
                                  reach[0],     reach[1],       reach[2],       n_matches,      lefts.data(),   n_lefts};
    const auto kernel = isa_at(isa).match;
    nb::gil_scoped_release release;
    kernel(search, plane, tops.data(), n_tops, {stop.data()}, places.data(), distances.data());
}

void require_within(const In1<std::int64_t>& offsets, std::int64_t low, std::int64_t high, std::size_t size) {
    for (std::size_t k = 0; k < offsets.shape(0); k++)
        require(offsets.data()[k] >= -low && offsets.data()[k] < std::int64_t(size) - high, "a patch leaves the image");
}

// The view of groups whose patches all lie within the images.
epitomes::Groups checked(const In1<float>& noisy, const In1<float>& guide, const In1<std::int64_t>& offsets,
                         const In1<std::int64_t>& sum_offsets, std::int64_t shift, const In2<std::int32_t>& places,
                         const In1<std::int32_t>& counts, const In1<float>& levels, const Flag& stop, const Changed1<float>& total,
                         const Changed1<float>& weight) {
    const std::size_t n = places.shape(0), m = offsets.shape(0);
    require(stop.shape(0) == 1, "the stop flag needs one value");
    require(noisy.shape(0) == guide.shape(0) && total.shape(0) == weight.shape(0), "the images differ in size");
    require(m > 0 && sum_offsets.shape(0) == m, "patches and their sums differ in length");
    require(counts.shape(0) == n && levels.shape(0) == n, "groups, counts and levels differ in number");
    std::int32_t low = INT32_MAX, high = 0;
    for (std::size_t i = 0; i < n; i++) {
        require(counts.data()[i] >= 1 && std::size_t(counts.data()[i]) <= places.shape(1), "a group has no members, or more than places");
        for (std::size_t j = 0; j < std::size_t(counts.data()[i]); j++) {
            const std::int32_t place = places.data()[i * places.shape(1) + j];
            low = place < low ? place : low;
            high = place > high ? place : high;
        }
    }
    if (n > 0) {
        require_within(offsets, low, high, noisy.shape(0));
        require(shift > -(std::int64_t(1) << 40) && shift < (std::int64_t(1) << 40), "a patch leaves the image");
        require_within(sum_offsets, low - shift, high - shift, total.shape(0));
    }
    return {noisy.data(), guide.data(), offsets.data(), sum_offsets.data(), m, shift, places.data(), counts.data(), levels.data(), n, places.shape(1)};
}

template <class Kernel, class Settings>
void run(Kernel kernel, const epitomes::Groups& groups, const Settings& settings, const Flag& stop, Changed1<float>& total,
         Changed1<float>& weight) {
    if (groups.n == 0) return;
    nb::gil_scoped_release release;
    kernel(groups, settings, {stop.data()}, total.data(), weight.data());
}

// Products of unit atoms with each other, for `shrink_groups`.
void atom_products(std::size_t isa, In2<float> atoms, Changed2<float> gram) {
    const std::size_t p = atoms.shape(0), stride = gram.shape(1);
    require(p > 0 && gram.shape(0) == p && stride >= p && stride % epitomes::kGramStep == 0, "the atoms and their products do not agree");
    const auto kernel = isa_at(isa).atom_products;
    nb::gil_scoped_release release;
    kernel(atoms.data(), p, atoms.shape(1), gram.data(), stride);
}

// Shrinks groups and adds the members' estimates to total, and their weights to weight.
void shrink_groups(std::size_t isa, In1<float> noisy, In1<float> guide, In1<std::int64_t> offsets, In1<std::int64_t> sum_offsets,
                   std::int64_t shift, In2<std::int32_t> places, In1<std::int32_t> counts, In1<float> levels, In2<float> base,
                   In2<float> atoms, std::size_t n_voters, std::size_t most_atoms, double bound, double strength, double edge, bool by_rank,
                   In2<float> gram, Flag stop, Changed1<float> total, Changed1<float> weight) {
    const epitomes::Groups groups = checked(noisy, guide, offsets, sum_offsets, shift, places, counts, levels, stop, total, weight);
    const std::size_t m = groups.m, most = base.shape(0) + most_atoms;
    require(base.shape(1) == m && atoms.shape(1) == m, "patches, base and atoms differ in length");
    require(base.shape(0) <= m, "the base is larger than the patch");
    require(atoms.shape(0) == 0 || (n_voters > 0 && most_atoms <= m && most >= 1 && most <= m), "the basis is empty, or larger than the patch");
    const bool made = gram.shape(0) > 0;
    require(!made || (gram.shape(0) == atoms.shape(0) && gram.shape(1) >= atoms.shape(0) && gram.shape(1) % epitomes::kGramStep == 0), "the atoms and their products do not agree");
    const epitomes::Shrinkage shrinkage{base.data(), base.shape(0), atoms.data(), atoms.shape(0), made ? gram.data() : nullptr, gram.shape(1), n_voters,
                                        most_atoms,  bound,         strength,     edge,            by_rank};
    run(isa_at(isa).shrink_groups, groups, shrinkage, stop, total, weight);
}

// The same by a Wiener filter.
void filter_groups(std::size_t isa, In1<float> noisy, In1<float> guide, In1<std::int64_t> offsets, In1<std::int64_t> sum_offsets,
                   std::int64_t shift, In2<std::int32_t> places, In1<std::int32_t> counts, In1<float> levels, In2<double> noise,
                   double in_guide, double flat, bool even, Flag stop, Changed1<float> total, Changed1<float> weight) {
    const epitomes::Groups groups = checked(noisy, guide, offsets, sum_offsets, shift, places, counts, levels, stop, total, weight);
    require(noise.shape(0) == groups.m && noise.shape(1) == groups.m, "patches and the covariance of the noise differ in length");
    run(isa_at(isa).filter_groups, groups, epitomes::Wiener{noise.data(), in_guide, flat, even}, stop, total, weight);
}

// The same by linear combinations of the members.
void combine_groups(std::size_t isa, In1<float> noisy, In1<float> guide, In1<std::int64_t> offsets, In1<std::int64_t> sum_offsets,
                    std::int64_t shift, In2<std::int32_t> places, In1<std::int32_t> counts, In1<float> levels, double in_guide, double extra,
                    bool affine, Flag stop, Changed1<float> total, Changed1<float> weight) {
    const epitomes::Groups groups = checked(noisy, guide, offsets, sum_offsets, shift, places, counts, levels, stop, total, weight);
    require(in_guide >= 0 && in_guide <= 1 && extra >= 0 && (in_guide < 1 || extra > 0), "the system has no inverse");
    run(isa_at(isa).combine_groups, groups, epitomes::Ridge{in_guide, extra, affine}, stop, total, weight);
}

// The same in a transform of patches and members.
void transform_groups(std::size_t isa, In1<float> noisy, In1<float> guide, In1<std::int64_t> offsets, In1<std::int64_t> sum_offsets,
                      std::int64_t shift, In2<std::int32_t> places, In1<std::int32_t> counts, In1<float> levels, In2<float> down,
                      In2<float> down_back, In2<float> across, In2<float> across_back, In1<float> along, double threshold, bool wiener,
                      In1<float> window, Flag stop, Changed1<float> total, Changed1<float> weight) {
    const epitomes::Groups groups = checked(noisy, guide, offsets, sum_offsets, shift, places, counts, levels, stop, total, weight);
    const std::size_t height = down.shape(0), width = across.shape(0);
    require(height > 0 && width > 0 && groups.m % (height * width) == 0 && window.shape(0) == groups.m, "patches and their transform differ in size");
    for (const In2<float>* matrix : {&down, &down_back}) require(matrix->shape(0) == height && matrix->shape(1) == height, "a transform is not square");
    for (const In2<float>* matrix : {&across, &across_back})
        require(matrix->shape(0) == width && matrix->shape(1) == width, "a transform is not square");
    std::size_t most = 1, used = 1;
    while (used < along.shape(0)) most *= 2, used += most * most;
    require(used == along.shape(0), "transforms of members need 1, 2, 4, ... of them");
    const epitomes::Transform transform{down.data(), down_back.data(), across.data(), across_back.data(), height,       width,
                                        along.data(), most,            threshold,     wiener,             window.data()};
    run(isa_at(isa).transform_groups, groups, transform, stop, total, weight);
}

// The same by conditional means, given the pixels of finite variance.
void complete_groups(std::size_t isa, In1<float> noisy, In1<float> guide, In1<std::int64_t> offsets, In1<std::int64_t> sum_offsets,
                     std::int64_t shift, In2<std::int32_t> places, In1<std::int32_t> counts, In1<float> levels, In1<float> variances,
                     std::size_t most, Flag stop, Changed1<float> total, Changed1<float> weight) {
    const epitomes::Groups groups = checked(noisy, guide, offsets, sum_offsets, shift, places, counts, levels, stop, total, weight);
    require(variances.shape(0) == noisy.shape(0), "the image and the variances of its pixels differ in size");
    require(most > 0, "no member is estimated");
    run(isa_at(isa).complete_groups, groups, epitomes::Conditional{variances.data(), most}, stop, total, weight);
}

std::size_t decompose(std::size_t isa, In2<float> matrix, float cut, Changed1<float> values, Changed2<float> vectors) {
    const std::size_t n = matrix.shape(0);
    require(n > 0 && matrix.shape(1) == n && values.shape(0) == n && vectors.shape(0) == n && vectors.shape(1) == n, "the matrix is not square");
    const auto kernel = isa_at(isa).decompose;
    nb::gil_scoped_release release;
    return kernel(matrix.data(), n, cut, values.data(), vectors.data());
}

// Corrects the rows from `first` on of an estimate, as many as total has, by the patches at `tops` x `lefts`.
void regress(std::size_t isa, In3<float> images, std::size_t side, In1<std::int64_t> tops, In1<std::int64_t> lefts, In2<float> anchors,
             In3<float> maps, float limit, std::size_t first, Flag stop, Changed2<float> total) {
    const std::size_t height = images.shape(1), width = images.shape(2), n_anchors = anchors.shape(0), m = side * side;
    require(stop.shape(0) == 1, "the stop flag needs one value");
    require(side > 0 && side <= height && side <= width, "the patch is larger than the image");
    require(images.shape(0) > 0 && n_anchors > 0 && anchors.shape(1) == m, "patches and anchors differ in length");
    require(maps.shape(0) == n_anchors && maps.shape(1) == images.shape(0) * m && maps.shape(2) >= m && maps.shape(2) % epitomes::kRegressionStep == 0,
            "anchors and maps do not agree");
    require(total.shape(1) == width && first + total.shape(0) <= height, "the images differ in size");
    for (std::size_t i = 0; i < tops.shape(0); i++)
        require(tops.data()[i] >= 0 && std::size_t(tops.data()[i]) + side <= height, "a patch leaves the image");
    for (std::size_t i = 0; i < lefts.shape(0); i++)
        require(lefts.data()[i] >= 0 && std::size_t(lefts.data()[i]) + side <= width, "a patch leaves the image");
    const epitomes::Regression regression{images.data(), images.shape(0), height,      width,     lefts.data(), lefts.shape(0), side,
                                          anchors.data(), n_anchors,       maps.data(), maps.shape(2),   limit};
    const auto kernel = isa_at(isa).regress;
    nb::gil_scoped_release release;
    kernel(regression, tops.data(), tops.shape(0), first, first + total.shape(0), {stop.data()}, total.data());
}

// Mean squared differences of the squares of a plane at `tops` x `lefts` and candidates in another one, at (rows, columns).
void compare_squares(std::size_t isa, In2<float> plane, In2<float> other, In1<std::int64_t> tops, In1<std::int64_t> lefts, In3<std::int64_t> rows,
                     In3<std::int64_t> columns, std::size_t side, std::size_t step, Changed3<float> differences) {
    const std::size_t n_tops = tops.shape(0), n_lefts = lefts.shape(0), n_candidates = rows.shape(0);
    require(side > 0 && step > 0, "a square and its step need a size");
    const auto agrees = [&](const auto& each) { return each.shape(0) == n_candidates && each.shape(1) == n_tops && each.shape(2) == n_lefts; };
    require(agrees(rows) && agrees(columns), "squares and shifted squares differ in number");
    require(agrees(differences), "squares and differences differ in number");
    const auto lies = [side](const auto& starts, std::size_t n, std::size_t size) {
        for (std::size_t i = 0; i < n; i++)
            require(starts.data()[i] >= 0 && std::size_t(starts.data()[i]) + side <= size, "a square leaves the image");
    };
    lies(tops, n_tops, plane.shape(0));
    lies(lefts, n_lefts, plane.shape(1));
    lies(rows, n_candidates * n_tops * n_lefts, other.shape(0));
    lies(columns, n_candidates * n_tops * n_lefts, other.shape(1));
    const epitomes::Squares squares{plane.data(), plane.shape(1), tops.data(), lefts.data(), n_tops, n_lefts, other.data(), other.shape(1), side, step,
                                    n_candidates};
    const auto kernel = isa_at(isa).compare_squares;
    nb::gil_scoped_release release;
    kernel(squares, rows.data(), columns.data(), differences.data());
}

// One name for all ways to estimate groups: their settings choose among them.
template <class Call, class... Settings>
void define_groups(nb::module_& m, Call call, const Settings&... settings) {
    m.def("shrink_groups", call, "isa"_a, "noisy"_a.noconvert(), "guide"_a.noconvert(), "offsets"_a.noconvert(), "sum_offsets"_a.noconvert(),
          "shift"_a, "places"_a.noconvert(), "counts"_a.noconvert(), "levels"_a.noconvert(), settings..., "stop"_a.noconvert(),
          "total"_a.noconvert(), "weight"_a.noconvert());
}

}  // namespace

void bind_groups(nb::module_& m) {
    m.def("match", &match, "isa"_a, "image"_a.noconvert(), "patch"_a, "reach"_a, "plane"_a, "tops"_a.noconvert(), "lefts"_a.noconvert(),
          "stop"_a.noconvert(), "places"_a.noconvert(), "distances"_a.noconvert());
    define_groups(m, &shrink_groups, "base"_a.noconvert(), "atoms"_a.noconvert(), "n_voters"_a, "most_atoms"_a, "bound"_a, "strength"_a,
                  "edge"_a, "by_rank"_a, "gram"_a.noconvert());
    m.def("atom_products", &atom_products, "isa"_a, "atoms"_a.noconvert(), "gram"_a.noconvert());
    define_groups(m, &filter_groups, "noise"_a.noconvert(), "in_guide"_a, "flat"_a, "even"_a);
    define_groups(m, &combine_groups, "in_guide"_a, "extra"_a, "affine"_a);
    define_groups(m, &transform_groups, "down"_a.noconvert(), "down_back"_a.noconvert(), "across"_a.noconvert(), "across_back"_a.noconvert(),
                  "along"_a.noconvert(), "threshold"_a, "wiener"_a, "window"_a.noconvert());
    define_groups(m, &complete_groups, "variances"_a.noconvert(), "most"_a);
    m.def("regress", &regress, "isa"_a, "images"_a.noconvert(), "side"_a, "tops"_a.noconvert(), "lefts"_a.noconvert(), "anchors"_a.noconvert(),
          "maps"_a.noconvert(), "limit"_a, "first"_a, "stop"_a.noconvert(), "total"_a.noconvert());
    m.def("compare_squares", &compare_squares, "isa"_a, "plane"_a.noconvert(), "other"_a.noconvert(), "tops"_a.noconvert(), "lefts"_a.noconvert(),
          "rows"_a.noconvert(), "columns"_a.noconvert(), "side"_a, "step"_a, "differences"_a.noconvert());
    m.def("decompose", &decompose, "isa"_a, "matrix"_a.noconvert(), "cut"_a, "values"_a.noconvert(), "vectors"_a.noconvert());
}
