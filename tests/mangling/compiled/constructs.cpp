// One of each construct that has a mangling of its own. Compiled by make.py, never run.
#include <string>
#include <type_traits>
#include <vector>
#include <tuple>
#include <functional>
#include <optional>
#include <concepts>
#include <utility>
#define X __attribute__((noinline, used, visibility("default")))
namespace at {
struct TensorBase {
  template <typename T, std::enable_if_t<!std::is_const_v<T>, int> = 0> X const T* const_data_ptr() const { return nullptr; }
  template <class T> X T* data_ptr() const { return nullptr; }
  X void lref() & {} X void rref() && {} X void clref() const& {} X void vol() volatile {}
  X bool operator==(const TensorBase&) const {return true;} X TensorBase operator+(int){return {};} X TensorBase operator-(){return {};}
  X void operator()(int){} X int operator[](int){return 1;} X operator bool() const {return true;} 
  template <class T> X operator T*() const { return nullptr; }
  template <class T> X operator std::vector<T>() const { return {}; }
  X void* operator new(size_t n) { return nullptr; } X void operator delete(void*) {}
  X TensorBase* operator->(){return this;} 
};
template const int* TensorBase::const_data_ptr<int, 0>() const;
template int* TensorBase::data_ptr<int>() const;
template TensorBase::operator int*() const;
template TensorBase::operator std::vector<long>() const;
}
X unsigned long long operator""_km(unsigned long long x) { return x; }
namespace n {
struct B { virtual ~B(); virtual void f(); int x; }; X B::~B() {} X void B::f() {}
struct C { virtual ~C(); virtual B* g(); int y; }; X C::~C() {} X B* C::g() {return nullptr;}
struct D : B, virtual C { ~D(); void f() override; D* g() override; D(int); using B::B; }; X D::~D() {} X void D::f() {} X D* D::g() {return this;} X D::D(int) {}
struct I { I(std::string, int) {} template <class T> I(T, T*) {} }; struct J : I { using I::I; };
X void inh() { J j("a", 1); J k(1, (int*)0); }
thread_local std::string tls("x");
X std::string& use() { return tls; }
X int& guard() { static std::string s("x"); static int z = s.size(); return z; }
X auto lam() { return [](auto x, int y) { static int q = y; return [=]<class T>(T t) { return t + x + q; }; }; }
X int uselam() { return lam()(1, 2)(3) + [](auto... xs) { return (xs + ... + 0); }(1, 2.0, 'c'); }
template <class... Ts> X auto pack(Ts&&... ts) -> std::tuple<Ts&&...> { return {std::forward<Ts>(ts)...}; }
X void usepack() { int i; pack(i, 1.0, "abc"); pack(); }
template <class T, class U> X auto add(T a, U b) -> decltype(a + b) { return a + b; } 
template <class T> X auto fold(T t) -> decltype(sizeof(t), t.size(), std::declval<T>()[0]) { return t[0]; }
template <class... T> X std::enable_if_t<(std::is_integral_v<T> && ...)> allint(T...) {}
template <class... T> X std::integral_constant<size_t, sizeof...(T)> cnt(T...) {return {};}
template <auto V> X void nttp() {} enum class E { a, b }; struct S { int a; float b; bool operator==(const S&) const = default; };
template <template <class...> class TT> X void ttp() {}
template <int... Is> X void ints(std::integer_sequence<int, Is...>) {}
X void inst() { add(1, 2.0); fold(std::string()); allint(1, 2L); cnt(1, 'a'); nttp<1>(); nttp<-5L>(); nttp<E::b>(); nttp<true>(); nttp<nullptr>(); nttp<&inst>(); nttp<S{1, 2.5f}>(); nttp<'x'>(); nttp<&S::a>(); ttp<std::vector>(); ints(std::make_integer_sequence<int, 4>()); nttp<2.5>(); nttp<7ull>(); }
template <class T> requires std::integral<T> X void con(T) {} template <std::integral T> X void con2(T) {} X void con3(std::integral auto) {}
template <class T> X void con4(T) requires (sizeof(T) > 2) {}
#ifdef __clang__ // GCC 12 cannot mangle a requires-expression
template <class T> X auto rq(T t) -> std::enable_if_t<requires { t.foo(); typename T::type; { t + 1 } noexcept -> std::same_as<int>; } || true> {}
X void inst_rq() { rq(1); }
#endif
X void inst2() { con(1); con2(2); con3(3); con4(4); }
X void fp(int (*)(int), int (&)[3], const char* const (*)[4], void (S::*)(int) const &, int S::*, void (*)() noexcept, int (*(*)(int))[2]) {}
X int (*retfp(int))(double) { return nullptr; }
template <class T> X T (*tretfp(T))(double) { return nullptr; } X void useret() { tretfp(1); }
X void builtins(char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long, long long, unsigned long long, __int128, unsigned __int128, float, double, long double, __float128, wchar_t, char8_t, char16_t, char32_t, bool, std::nullptr_t, ...) {}
typedef float v4 __attribute__((vector_size(16))); X void vec(v4, v4*) {} X void cplx(_Complex float, _Complex double*) {}
X void va(std::optional<std::string>, std::function<void(std::string&&)> &&) {}
namespace { struct Anon {}; X void anon(Anon) {} } X void useanon() { anon({}); }
template <class T> struct Outer { template <class U> struct Inner { template <class V> X static V f(T, U, V) { return V(); } friend X void fr(Inner) {} }; };
X void useouter() { Outer<int>::Inner<char>::f(1, 'a', 2.0); fr(Outer<int>::Inner<char>()); }
struct [[gnu::abi_tag("foo", "bar")]] Tagged { X void m() {} X static int s; }; int Tagged::s; X Tagged ftag() { return {}; } inline namespace __v1 __attribute__((abi_tag("v1"))) { X void tagns() {} }
X void usetag() { Tagged().m(); }
struct Un { struct { int q; X void f() {} } u; enum { e1 } e; }; template <class T> X void un(T) {} X void useun() { Un x; un(x.u); un(x.e); x.u.f(); struct L { X void lm() {} }; L().lm(); un(L()); }
template <class T, class... A> X auto nw(A... a) -> decltype(new T(a...), void()) {} template <class T> X auto cast(T t) -> decltype(static_cast<long>(t) ? (int)t : *reinterpret_cast<int*>(t)) { return 0; }
template <class T> X auto mem(T* t) -> decltype((*t).a, t->b, t->~T()) {} template <class T> X auto il(T t) -> decltype(T{1, 2.f}, std::initializer_list<int>{1,2}, throw 1) {} template <class T> X auto sub(T t) -> decltype(-t, !t, ~t, &t, t++, --t, t <=> t, t && t, t << 1, (t > 1)) { return true; }
template <class T> X auto neg(T t) -> decltype(noexcept(t + 1), alignof(T), typeid(T), ::n::useun(), (delete t)) {}
}
#include <typeinfo>
namespace n { X void inst3() { nw<S>(1, 2.f); cast(1L); S s; mem(&s); il(s);  sub(1); } }
