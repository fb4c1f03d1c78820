// Calls: printf, assert, recursion, pointers to functions, virtual functions, switch, local arrays.
#include <cassert>
#include <cstdio>
#include <cstdlib>
__device__ int Fibonacci(int n) { return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2); }
__device__ __noinline__ int Add(int a, int b) { return a + b; }
__device__ __noinline__ int Subtract(int a, int b) { return a - b; }
typedef int (*Op)(int, int);
__device__ Op ops[2] = {Add, Subtract};
struct Big {
  int values[10];
  double d;
  char c;
};
__device__ __noinline__ Big Make(Big big, int i) {
  big.values[i] = i;
  big.d *= 2;
  return big;
}
struct Shape {
  virtual __device__ float Area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ float Area() const override { return side * side; }
};
struct Circle : Shape {
  float radius;
  __device__ float Area() const override { return 3.14f * radius * radius; }
};
extern "C" __global__ void Calls(int* out, Big big, int n) {
  out[0] = Fibonacci(n);
  out[1] = ops[n & 1](n, 2);
  Big made = Make(big, n);
  out[2] = made.values[3] + (int)made.d;
  printf("hello %d %f %s\n", n, 1.5, "x");
  assert(n != 5);
  Square square;
  square.side = n;
  Circle circle;
  circle.radius = n;
  const Shape* shape = n > 3 ? (const Shape*)&square : &circle;
  out[3] = shape->Area();
  int local[32];
  for (int i = 0; i < 32; ++i) local[i] = out[i];
  for (int i = 0; i < n; ++i) local[local[i] & 31] += i;
  out[4] = local[n & 31];
  int* heap = (int*)malloc(64);
  heap[0] = 1;
  out[5] = heap[0];
  free(heap);
}
extern "C" __global__ void Switch(int* out, int n) {
  switch (n) {
    case 0:
      out[0] = 5;
      break;
    case 1:
      out[1] = n * out[7];
      break;
    case 2:
      out[2] += 9;
      break;
    case 3:
      out[3] *= out[8];
      break;
    case 4:
      out[4] = out[0] / out[1];
      break;
    case 5:
      out[5] = out[1] % out[2];
      break;
    case 6:
      __syncthreads();
      break;
    case 7:
      out[7] = clock();
      break;
    default:
      out[9] = -1;
  }
}
