    namespace torch { struct Library { Library& _def(const char*) &; Library& _impl(const char*) &; }; }
    struct Init { Init(void (*f)(torch::Library&)); };
    #define CAT_(a, b) a##b
    #define CAT(a, b) CAT_(a, b)
    #define MADE(f) static void f(torch::Library&); static const Init CAT(i, __COUNTER__)(&f); void f(torch::Library& m)
    #define TORCH_LIBRARY(ns, m) MADE(TORCH_LIBRARY_init_##ns)
    #define TORCH_LIBRARY_FRAGMENT(ns, m) MADE(TORCH_LIBRARY_FRAGMENT_init_##ns##_7)
    #define TORCH_LIBRARY_IMPL(ns, k, m) MADE(TORCH_LIBRARY_IMPL_init_##ns##_##k##_8)
    extern "C" int puts(const char*);
