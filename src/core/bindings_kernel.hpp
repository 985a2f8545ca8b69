#pragma once
#include <nanobind/nanobind.h>

void bind_kernel(nanobind::module_& m);
