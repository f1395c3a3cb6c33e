#pragma once
struct __hip_bfloat16 { unsigned short x; };
