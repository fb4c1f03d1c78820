// What can be made from a line of api/calls.inc. All but the first are for an X of its lists:
//
//   #define FORWARD(context, id, result, method, ...)
//     result method(TWINMMU_PARAMETERS(__VA_ARGS__)) override {
//       return target_->method(TWINMMU_ARGUMENTS(__VA_ARGS__));
//     }
//   class ForwardingVmm : public Vmm { TWINMMU_VMM_CALLS(FORWARD, ) ...
//
// Their own arguments are the last ones of X: `name, (type, parameter)...`.

#ifndef TWINMMU_API_CALL_MACROS_H_
#define TWINMMU_API_CALL_MACROS_H_

#include "api/calls.inc"

// An X: the declaration of a call in an implementation, with its short forms if the interface has
// them. `interface`: Vmm or Multicast; in a class that overrides only some calls, its base.
#define TWINMMU_OVERRIDE(context, id, result, method, ...) \
  result method(TWINMMU_PARAMETERS(__VA_ARGS__)) override;
#define TWINMMU_SHORT_FORMS(interface, id, result, method, ...) using interface::method;

// "cuMemMap"
#define TWINMMU_DRIVER_NAME(...) TWINMMU_FIRST_TEXT(__VA_ARGS__, )
// Bytes size, uint64_t flags
#define TWINMMU_PARAMETERS(...) TWINMMU_EACH(TWINMMU_PARAMETER, TWINMMU_COMMA, __VA_ARGS__)
// [[maybe_unused]] Bytes size, [[maybe_unused]] uint64_t flags
#define TWINMMU_UNUSED_PARAMETERS(...) TWINMMU_EACH(TWINMMU_UNUSED, TWINMMU_COMMA, __VA_ARGS__)
// size, flags
#define TWINMMU_ARGUMENTS(...) TWINMMU_EACH(TWINMMU_ARGUMENT, TWINMMU_COMMA, __VA_ARGS__)
// , size, flags
#define TWINMMU_THEN_ARGUMENTS(...) TWINMMU_EACH(TWINMMU_THEN, TWINMMU_NOTHING, __VA_ARGS__)
// "size", "flags"
#define TWINMMU_PARAMETER_NAMES(...) TWINMMU_EACH(TWINMMU_TEXT, TWINMMU_COMMA, __VA_ARGS__)
// F(type, parameter) for each parameter, separated by commas.
#define TWINMMU_FOR_PARAMETERS(F, ...) TWINMMU_EACH(F, TWINMMU_COMMA, __VA_ARGS__)

// --- Implementation: for these macros only ---

#define TWINMMU_FIRST_TEXT(first, ...) #first
#define TWINMMU_PARAMETER(type, parameter) type parameter
#define TWINMMU_UNUSED(type, parameter) [[maybe_unused]] type parameter
#define TWINMMU_ARGUMENT(type, parameter) parameter
#define TWINMMU_THEN(type, parameter) , parameter
#define TWINMMU_TEXT(type, parameter) #parameter
#define TWINMMU_COMMA() ,
#define TWINMMU_NOTHING()

// F of each of up to eight pairs, separated by S(); the name before them is skipped.
#define TWINMMU_EACH(F, S, ...) \
  TWINMMU_PICK(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, )(F, S, __VA_ARGS__)
#define TWINMMU_PICK(name, p1, p2, p3, p4, p5, p6, p7, p8, count, ...) TWINMMU_EACH_##count
#define TWINMMU_EACH_0(F, S, name)
#define TWINMMU_EACH_1(F, S, name, p) F p
#define TWINMMU_EACH_2(F, S, name, p, ...) F p S() TWINMMU_EACH_1(F, S, name, __VA_ARGS__)
#define TWINMMU_EACH_3(F, S, name, p, ...) F p S() TWINMMU_EACH_2(F, S, name, __VA_ARGS__)
#define TWINMMU_EACH_4(F, S, name, p, ...) F p S() TWINMMU_EACH_3(F, S, name, __VA_ARGS__)
#define TWINMMU_EACH_5(F, S, name, p, ...) F p S() TWINMMU_EACH_4(F, S, name, __VA_ARGS__)
#define TWINMMU_EACH_6(F, S, name, p, ...) F p S() TWINMMU_EACH_5(F, S, name, __VA_ARGS__)
#define TWINMMU_EACH_7(F, S, name, p, ...) F p S() TWINMMU_EACH_6(F, S, name, __VA_ARGS__)
#define TWINMMU_EACH_8(F, S, name, p, ...) F p S() TWINMMU_EACH_7(F, S, name, __VA_ARGS__)

#endif  // TWINMMU_API_CALL_MACROS_H_
