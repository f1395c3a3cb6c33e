#define TORCH_INTERNAL_ASSERT(cond, ...) text(#cond MARK)
inline void check(int a) {
  TORCH_INTERNAL_ASSERT(a > 0, "one line, with a comma");
  TORCH_INTERNAL_ASSERT(
      same(a, (a + 1)) &&  // a comment (with a bracket, and a comma
          a != ')',
      "three lines");
  // TORCH_INTERNAL_ASSERT(
}
#define WITHIN(x) \
  TORCH_INTERNAL_ASSERT(x)
