// Inline PTX: scopes, labels, constant expressions, comments, addresses.

extern "C" __global__ void Inline(unsigned* out, unsigned long long* wide) {
  unsigned lane, clock, word;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile(
      "{ .reg .pred p; .reg .u32 t<3>; setp.ne.u32 p, %1, 0; @!p bra DONE;\n"
      "mov.u32 t1, 0x10U + (3 << 2) * -1; add.u32 %0, t1, %1; DONE: }"
      : "=r"(word)
      : "r"(lane));
  asm volatile("ld.global.ca.L2::128B.u32 %0, [%1+4];" : "=r"(clock) : "l"(out));
  asm volatile("st.volatile.global.u32 [%0], %1; /* a comment */ membar.gl;" ::"l"(out),
               "r"(clock + word));
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(wide[1]) : "l"(wide));
  asm volatile("red.release.sys.global.add.u32 [%0], 1; // another" ::"l"(out));
  asm volatile(
      "{ .shared .align 8 .b64 s[2]; .reg .b32 a; mov.u32 a, s; st.shared.u64 [a+8], 0; }");
}
