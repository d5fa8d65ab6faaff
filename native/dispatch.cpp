// Which instruction sets were compiled, and which of them this processor can run. Compiled without any set of its own.
#include "engine.hpp"

namespace epitomes {

#if defined(__x86_64__)
namespace baseline { extern const Isa isa; }
namespace avx2 { extern const Isa isa; }
namespace avx512 { extern const Isa isa; }
#elif defined(__aarch64__)
namespace neon { extern const Isa isa; }
#else
namespace baseline { extern const Isa isa; }
#endif

const Isa* const* runnable_isas(std::size_t* count) {
    static const Isa* sets[3];
    std::size_t n = 0;
#if defined(__x86_64__)
    sets[n++] = &baseline::isa;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets[n++] = &avx2::isa;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        sets[n++] = &avx512::isa;
#elif defined(__aarch64__)
    sets[n++] = &neon::isa;
#else
    sets[n++] = &baseline::isa;
#endif
    *count = n;
    return sets;
}

}  // namespace epitomes
