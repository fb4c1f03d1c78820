// Arithmetic of all types.

extern "C" __global__ void Doubles(double* d, float* f) {
  const int i = threadIdx.x;
  d[i] = d[i] + d[i + 1] * __fma_rn(d[1], d[2], d[3]) - __dsqrt_rn(d[4]) + __ddiv_rd(d[5], d[6]);
  f[i] = f[i] * __fmaf_rz(f[1], f[2], f[3]) - __fsqrt_ru(f[4]) / f[5] + __fdiv_rn(f[6], 0.1f);
  f[2] = __double2float_rd(d[2]) + __int2float_rn(i) + (f[9] != f[9] ? 1.0f : -0.0f);
  d[3] = f[1] < f[2] ? 1e300 : __longlong_as_double(0x7ff0000000000000ll);
}

extern "C" __global__ void Integers(long long* l, unsigned long long* u, short* s, signed char* c,
                                    unsigned char* b) {
  const int i = threadIdx.x;
  l[i] = l[i] * l[i + 1] / l[i + 2] % l[i + 3] + (l[4] << l[5]) + (l[6] >> l[7]);
  u[i] = u[i] / u[i + 1] + __umul64hi(u[2], u[3]) + __clzll(u[4]) + __brevll(u[5]) + __popcll(u[7]);
  s[i] = s[i] * s[i + 1];
  c[i] = c[i] + c[i + 1];
  b[i] = b[i] * b[i + 1] >> 3;
  l[1] = __byte_perm(s[1], s[2], 0x5410) + __funnelshift_l(s[1], s[2], s[3]) + __sad(s[1], s[2], 3);
  l[2] = __mulhi(s[1], s[2]) + (int)u[9] + (l[3] < -1 ? 7 : (short)l[8]);
}
