// The contract between the kernels and whoever calls them: views of arrays, parameters, codes, and the engine.
// Nothing here depends on an instruction set. Rows are signals; a code lists the atoms of a row in rising order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace epitomes {

// A picture whose windows are atoms: height x width x channels, C order.
template <class T>
struct Picture {
    const T* pixels;
    std::size_t height, width;
};

// What an engine is made of. `unit` holds p atoms of m pixels with norm one, or zero.
// With pictures, the atoms are all their (patch_height, patch_width, channels) windows, in row order, one picture after
// another, divided by `norms`.
template <class T>
struct AtomsView {
    const T* unit;
    const T* norms;
    std::size_t p, m;
    const Picture<T>* pictures;
    std::size_t n_pictures, patch_height, patch_width, channels;
    bool dense_gram;
};

// Patches in memory. `mask` (n, m) is null, or non-zero where a pixel is known.
template <class T>
struct Rows {
    const T* data;
    const std::uint8_t* mask;
    std::size_t n;
};

// Patches that are windows of an image: `tops` are the rows of the n_tops x n_across grid, columns follow each other.
// `image` has had a grey level taken off, which keeps float32 sums small; `centred` takes the rest of each mean off.
template <class T>
struct Windows {
    const T* image;
    std::size_t stride;  // values from one image row to the next
    const std::int64_t* tops;
    std::size_t n_across;
    std::size_t first, last;  // the range of patches to code
    bool centred;
};

// Warm start: codes of the same rows, compressed by rows, on unit atoms. Null when cold.
template <class T>
struct Start {
    const std::int64_t* begin;
    const std::int32_t* atoms;
    const T* values;
};

// A flag that another thread may raise; kernels look at it often and return early.
struct Stop {
    const std::uint8_t* flag;
    bool raised() const { return flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0; }
};

struct Pursuit {
    double residual;        // stop once |x - aD|^2 <= residual
    std::size_t n_nonzero;  // or once this many atoms are used
    bool least_squares;     // choose by the decrease of the residual (OLS) instead of the correlation (OMP)
};

struct Lasso {
    double lam, tol;
    bool positive;
};

// Owned by the caller, who frees each array with std::free.
template <class T>
struct Codes {
    std::int32_t* counts;
    std::int32_t* atoms;
    T* values;
    std::size_t n_rows, n_values;
};

// The solution path of one patch: n_knots values of lam, and the code at each of them.
template <class T>
struct Path {
    double* lams;
    Codes<T> codes;
};

// A dictionary made ready for coding. Immutable, so threads may share it.
template <class T>
class Engine {
   public:
    virtual ~Engine() = default;
    virtual bool structural() const = 0;  // whether windows are correlated without copying them into rows
    virtual Codes<T> pursue(const Rows<T>&, const Pursuit&, Stop) const = 0;
    virtual Codes<T> pursue(const Windows<T>&, const Pursuit&, Stop) const = 0;
    virtual Codes<T> lasso(const Rows<T>&, const Lasso&, const Start<T>&, Stop) const = 0;
    virtual Codes<T> lasso(const Windows<T>&, const Lasso&, const Start<T>&, Stop) const = 0;
    virtual Codes<T> lasso_lars(const Rows<T>&, const Lasso&, Stop) const = 0;
    virtual Codes<T> lasso_lars(const Windows<T>&, const Lasso&, Stop) const = 0;
    virtual Path<T> path(const T* row, const Lasso&) const = 0;
    // Correlations (n, p) with the unit atoms. With `out` null they are computed and dropped, which times the kernel.
    virtual void correlate(const Rows<T>&, T* out) const = 0;
    virtual void correlate(const Windows<T>&, T* out) const = 0;
};

// Copies n patches into rows (n, m), takes their means off if asked, and stores the means.
template <class T>
using Gather = void (*)(const T* image, const std::int64_t* starts, std::size_t n, const std::int64_t* offsets,
                        std::size_t m, bool centre, T* rows, T* means);

// Adds n weighted rows back to the image, in the order of the rows.
template <class T>
using Scatter = void (*)(double* total, double* weight, const std::int64_t* starts, std::size_t n,
                         const std::int64_t* offsets, std::size_t m, const T* rows, const T* weights);

// Adds coded rows (n, m) to the sums of the atoms first to last - 1: gram (p, p), cross (p, m), mass (p).
template <class T>
using Summarise = void (*)(const T* rows, std::size_t n, std::size_t m, const Start<T>& codes, std::size_t first, std::size_t last,
                           std::size_t p, double* gram, double* cross, double* mass);

// K-SVD: improves the unit atoms (p, m) one after another, each with the values of the rows that use it, and keeps the
// residual (n, m) up to date. Codes are compressed by atoms. `exact`: by singular vectors instead of one power step.
template <class T>
using UpdateAtoms = void (*)(T* residual, std::size_t m, const std::int64_t* begin, const std::int32_t* users, T* values, T* atoms,
                             std::size_t p, bool exact, Stop);

// out (n, width) = left (n, inner) times right (inner, width).
using Multiply = void (*)(const double* left, std::size_t n, std::size_t inner, const double* right, std::size_t width, double* out);

// What block matching compares: a planar image [channels][planes][height][width]; patches and how far to look for them,
// along planes, height and width; the columns at which the references of a line begin.
struct Search {
    const float* image;
    std::size_t channels, planes, height, width;
    std::size_t patch_planes, patch_height, patch_width;
    std::size_t reach_planes, reach_height, reach_width;
    std::size_t n_matches;
    const std::int64_t* lefts;
    std::size_t n_lefts;
};

// Groups of similar patches. A patch is its place in a planar image and the offsets of its pixels from there; sums have a
// layout of their own, of which `shift` is the place that corresponds to place 0.
struct Groups {
    const float *noisy, *guide;  // the patches that are estimated, and those that say how
    const std::int64_t *offsets, *sum_offsets;
    std::size_t m;
    std::int64_t shift;
    const std::int32_t* places;  // [n][n_matches], the nearest first
    const std::int32_t* counts;  // [n]: members of each group, at least one
    const float* levels;         // [n]: standard deviation of the noise in each group
    std::size_t n, n_matches;
};

// What is done to a group: its members are projected on the base and on atoms that they choose together, or on nothing
// where there are no atoms or where all they may choose leave more error than noise has; then the singular values of their codes, less the mean code, are shrunk.
struct Shrinkage {
    const float* base;  // [n_base][m], orthonormal: what every group keeps
    std::size_t n_base;
    const float* atoms;  // [p][m], unit and orthogonal to the base
    std::size_t p;
    const float* gram;  // [p][gram_stride]: products of the atoms with each other, or null, and then they are made when asked for
    std::size_t gram_stride;
    std::size_t n_voters;    // nearest members that choose atoms
    std::size_t most_atoms;  // that they may choose
    double bound;            // they choose while their mean squared error is above this many variances of the noise
    double strength;         // of the shrinkage
    double edge;             // more of it, in squares of the largest singular value that noise alone has
    bool by_rank;            // whether estimates weigh 1 / (1 + directions kept), or all the same
};

// What is done to a group otherwise: its members pass the Wiener filter of their covariance and that of the noise.
struct Wiener {
    const double* noise;  // [m][m]: covariance of the noise of a patch at level 1, positive definite
    double in_guide;      // how much of it the guide holds: 1 where the guide is the noisy image
    double flat;          // groups whose pixels vary by no more than this many variances of the noise become their mean
    bool even;            // whether all groups weigh the same, or 1 / (1 + directions kept)
};

// Each member becomes a linear combination of all: (G + D)^-1 G of them, with G the products of their guide patches.
struct Ridge {
    double in_guide;  // how much of the noise the guide holds: 1 where it is the noisy image
    double extra;     // noise that is assumed beside that which there is, a share of it
    bool affine;      // whether the factors of a combination sum to one
};

// A group is transformed along the columns and rows of its patches and along its members, its coefficients are shrunk, and
// the transforms are undone. Its members are cut to 1, 2, 4, ...
struct Transform {
    const float *down, *down_back;      // [height][height], and its inverse
    const float *across, *across_back;  // [width][width], and its inverse
    std::size_t height, width;
    const float* along;   // orthonormal matrices [1][1], [2][2], [4][4], ..., one after another
    std::size_t most;     // members that the last of them takes
    double threshold;     // in standard deviations of the noise: coefficients below it become zero
    bool wiener;          // coefficients are multiplied by g^2 / (g^2 + level^2) instead, with g those of the guide
    const float* window;  // [m]: how much the pixels of a patch weigh
};

// What is done to a group with unknown pixels: its members become conditional means, given their known pixels.
struct Conditional {
    const float* variances;  // of the noise of each pixel of the image; infinite where it is unknown
    std::size_t most;        // members, the nearest ones, that are estimated; all of them say how
};

// Patches of an estimate are corrected by the linear map of their nearest anchor.
struct Regression {
    const float* images;  // [n_inputs][height][width]: the estimate, and others less the estimate
    std::size_t n_inputs, height, width;
    const std::int64_t* lefts;  // [n_lefts]: first columns of patches
    std::size_t n_lefts, side;  // patches are square
    const float* anchors;       // [n_anchors][m]
    std::size_t n_anchors;
    const float* maps;  // [n_anchors][n_inputs * m][wide], of which m are used
    std::size_t wide;   // a multiple of kRegressionStep
    float limit;        // of a correction, as a root mean square
};
constexpr std::size_t kRegressionStep = 16;

// Squares on a grid in one plane, to be compared with squares anywhere in another one.
struct Squares {
    const float* plane;  // [..][width]
    std::size_t width;
    const std::int64_t *tops, *lefts;
    std::size_t n_tops, n_lefts;
    const float* other;  // [..][other_width]
    std::size_t other_width;
    std::size_t side, step;    // every `step` rows are compared
    std::size_t n_candidates;  // squares of the other plane for each
};

using Match = void (*)(const Search&, std::size_t plane, const std::int64_t* tops, std::size_t n_tops, Stop, std::int32_t* places,
                       float* distances);
// Products of all atoms [p][m] with each other, into rows [p][stride]; `stride` is a multiple of kGramStep.
constexpr std::size_t kGramStep = 32;
using AtomProducts = void (*)(const float* atoms, std::size_t p, std::size_t m, float* gram, std::size_t stride);
using ShrinkGroups = void (*)(const Groups&, const Shrinkage&, Stop, float* total, float* weight);
using FilterGroups = void (*)(const Groups&, const Wiener&, Stop, float* total, float* weight);
using CombineGroups = void (*)(const Groups&, const Ridge&, Stop, float* total, float* weight);
using TransformGroups = void (*)(const Groups&, const Transform&, Stop, float* total, float* weight);
using CompleteGroups = void (*)(const Groups&, const Conditional&, Stop, float* total, float* weight);
// Adds the corrections of the patches at `tops` to the rows from `first` to `last`.
using Regress = void (*)(const Regression&, const std::int64_t* tops, std::size_t n_tops, std::size_t first, std::size_t last, Stop, float* total);
// Mean squared differences [n_candidates][n_tops][n_lefts]; `rows` and `columns` of the same shape say where the other
// squares begin.
using CompareSquares = void (*)(const Squares&, const std::int64_t* rows, const std::int64_t* columns, float* differences);
// Eigenvalues, rising, and unit eigenvectors as rows, of a symmetric matrix (n, n).
using Decompose = std::size_t (*)(const float* matrix, std::size_t n, float cut, float* values, float* vectors);

template <class T>
struct Kernels {
    std::unique_ptr<Engine<T>> (*make_engine)(const AtomsView<T>&);
    Gather<T> gather;
    Scatter<T> scatter;
    Summarise<T> summarise;
    UpdateAtoms<T> update_atoms;
};

// One compiled instruction set.
struct Isa {
    const char* name;
    Kernels<float> single;
    Kernels<double> full;
    Multiply multiply;
    Match match;
    ShrinkGroups shrink_groups;
    FilterGroups filter_groups;
    CombineGroups combine_groups;
    TransformGroups transform_groups;
    CompleteGroups complete_groups;
    Decompose decompose;
    Regress regress;
    CompareSquares compare_squares;
    AtomProducts atom_products;
};

// The compiled sets that this processor can run, best last; `count` receives how many.
const Isa* const* runnable_isas(std::size_t* count);

}  // namespace epitomes
