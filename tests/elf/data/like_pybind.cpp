struct Name { const char* value; };
struct Record { const char* name; const char* doc; };
__attribute__((visibility("default"))) Record* record();
__attribute__((visibility("default"))) void bind(Record* of, const char* signature);
__attribute__((visibility("default"))) void set(const char* name);
template <int N> __attribute__((noinline)) void initialize(const Name& name) {
  Record* of = record();
  of->name = name.value;
  bind(of, N ? "({torch.Tensor}, {torch.Tensor}) -> torch.Tensor" : "({int}) -> int");
}
extern "C" __attribute__((visibility("default"))) void PyInit_m() {
  Record* of = record();
  of->name = "forward";
  of->doc = "a sentence";
  bind(of, "({torch.Tensor}, {float}) -> torch.Tensor");
  set("forward");
  initialize<1>(Name{"gemm"});
  set("gemm");
  initialize<1>(Name{"ck_moe"});
  set("ck_moe");
  initialize<0>(Name{"version"});
  set("version");
}
