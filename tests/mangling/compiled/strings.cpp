// What the two std::string ABIs mangle otherwise. Compiled by make.py, never run.
#include <list>
#include <sstream>
#include <filesystem>
#include <string>
#define X __attribute__((noinline, used, visibility("default")))
namespace c10 { struct Error { Error(std::string); virtual const char* what() const; std::string msg() const; static std::string name; }; X Error::Error(std::string) {} X const char* Error::what() const {return 0;} X std::string Error::msg() const {return "";} std::string Error::name; 
X void f(std::list<int>, std::ostringstream&, const std::string&, std::wstring, std::string_view) {} template <class T> struct H { X void g(T) {} }; template struct H<std::string>; }
