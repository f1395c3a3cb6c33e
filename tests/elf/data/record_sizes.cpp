#include <string>
namespace c10 {
struct Kernel { char a[40]; struct In { int x; }; };
namespace impl { class Entry { long q[7]; public: Kernel k; std::string s; void f(); }; void Entry::f() {} }
struct Declared;
Declared* pointer;
Kernel::In in;
}
struct Kernel { char other[3]; } other;
extern "C" { unsigned long size = sizeof(c10::impl::Entry); }
extern "C" int run(int n) { struct Kernel { int a; } local{n}; c10::impl::Entry e; e.f(); return local.a; }
