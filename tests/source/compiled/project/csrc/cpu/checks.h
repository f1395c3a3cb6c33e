// Macros that every source of the project uses, as in torch-scatter, torch-sparse and torch-cluster.
#pragma once
#include <c10/util/Exception.h>

#define CHECK_CPU(x) AT_ASSERTM(x.device().is_cpu(), #x " must be CPU tensor")
#define CHECK_INPUT(x) AT_ASSERTM(x, "Input mismatch")
#define UNSUPPORTED(NAME, TYPE)                                                                  \
  AT_ERROR(#NAME, " not implemented for '", toString(TYPE), "'")
