#include <optional>
#include <vector>
namespace c10 {
struct Held { char a[40]; };
struct Base { int b; };
struct Alias { int c; };
struct Pointed { int d; };
struct Listed { int e; };
struct Shared { int f; };
struct InTorch { int g; };
struct Nested { int h; };
struct Unnamed { int i; };
struct Uses { InTorch inside; };
template <class T> struct Wrapped { T value; };
}
struct THPThing { c10::InTorch inside; } thing;
using Other = const c10::Alias;
namespace own {
class Holder {
 public:
  int first;
  c10::Held held;
  Other alias{};
  c10::Pointed* pointed;
  c10::Pointed& referred;
  std::vector<c10::Listed> listed;
  static c10::Shared shared;
  struct In { volatile c10::Nested nested; } in;
  Holder(c10::Pointed& p) : referred(p) {}
  int f();
};
int Holder::f() { return first + held.a[0] + in.nested.h; }
c10::Shared Holder::shared;
struct Derived : c10::Base { int x; } derived;
}
namespace { struct Hidden { c10::Unnamed unnamed; } hidden; }
c10::Uses uses;
std::optional<c10::InTorch> optional;
extern "C" int run(int n) { hidden.unnamed.i = n; c10::Listed local{n}; return local.e + own::derived.b; }
