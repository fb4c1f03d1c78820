#!/bin/bash
# Checks the #include lines against the layers of docs/internals/overview.md, the length of the public headers, and
# how many files a folder has.
# Usage: check_layers.sh [ROOT]. One line for each violation; exit code 1 if there is any.
set -eu
cd "${1:-$(dirname "$0")/../..}"

folders=()
for folder in api backend sim conformance kernels tools third_party/cuda_abi; do
  [[ -d $folder ]] && folders+=("$folder")
done

# Everything in a folder counts, its BUILD file too.
crowded=$(find "${folders[@]}" -type f -printf '%h\n' | LC_ALL=C sort | uniq -c |
  awk '$1 > 40 { print $2 "/: " $1 " files: at most 40. Give some of them a folder of their own." }')
[[ -z $crowded ]] || echo "$crowded"

# The example workspace and what new-test lays out are projects of their own, above all layers.
find "${folders[@]}" -path tools/example_workspace -prune -o -path tools/new_test/template -prune -o \
    \( -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.inc' -o -name '*.cu' \) -print | LC_ALL=C sort |
awk '
function violation(message) {
  printf "%s:%d: %s\n", file, line, message
  bad = 1
}

# What the layer of `file` may include of the project: a regular expression, and the same in words.
function allow(pattern, words) {
  allowed = "^(" pattern ")/"
  allowed_words = words
}
function set_layer() {
  if (file ~ /^api\//) allow("api", "api/")
  else if (file ~ /^backend\//) allow("backend|api|third_party/cuda_abi", "backend/, api/ and third_party/cuda_abi/")
  else if (file ~ /^sim\/libcudart\//) allow("sim/libcudart|third_party/cuda_abi", "sim/libcudart/ and third_party/cuda_abi/")
  else if (file ~ /^sim\/libnvml\//)
    allow("sim/(libnvml|libcuda|profile)|third_party/cuda_abi", "sim/libnvml/, sim/libcuda/, sim/profile/ and third_party/cuda_abi/")
  else if (file ~ /^sim\/libcuda\//) allow("sim|api|third_party/cuda_abi", "sim/, api/ and third_party/cuda_abi/")
  else if (file ~ /^sim\//) allow("sim|api", "sim/ and api/ (third_party/cuda_abi/ only in sim/libcuda/)")
  else if (file ~ /^kernels\//) allow("kernels|api", "kernels/ and api/")
  else if (file ~ /^conformance\/(instances|campaign)\//)
    allow("conformance|kernels|api|backend|sim", "conformance/, kernels/, api/, backend/ and sim/")
  else if (file ~ /^conformance\/ptx\//)
    allow("conformance/ptx|api|backend|sim", "conformance/ptx/, api/, backend/ and sim/")
  else if (file ~ /^conformance\/litmus\//)
    allow("conformance/litmus|api|sim", "conformance/litmus/, api/ and sim/")
  else if (file ~ /^conformance\/rules\/rules[.]/)
    allow("conformance/rules|api", "conformance/rules/ and api/")
  else if (file ~ /^conformance\/framework\//)
    allow("conformance/(framework|rules)|api", "conformance/framework/, conformance/rules/ and api/")
  else if (file ~ /^conformance\/fixtures\//)
    allow("conformance/(fixtures|framework|rules)|kernels|api", "conformance/fixtures/, framework/ and rules/, kernels/ and api/")
  else if (file ~ /^conformance\/tests\//)
    allow("conformance/(fixtures|framework|rules)|kernels|api", "conformance/fixtures/, framework/ and rules/, kernels/ and api/")
  else if (file ~ /^conformance\/mutants\//)
    allow("conformance|kernels|api|sim", "conformance/, kernels/, api/ and sim/")
  else if (file ~ /^conformance\/abi\//)
    allow("conformance/abi|third_party/cuda_abi", "conformance/abi/ and third_party/cuda_abi/")
  else if (file ~ /^conformance\//)
    allow("conformance|kernels|api", "conformance/, kernels/ and api/ (backend/ and sim/ only in conformance/instances/ and campaign/, sim/ in conformance/litmus/ and mutants/)")
  else if (file ~ /^tools\//) allow("[^/]+", "everything")
  else allow("third_party/cuda_abi", "third_party/cuda_abi/")
  layer = file ~ /^third_party\// ? "third_party/cuda_abi" : substr(file, 1, index(file, "/") - 1)
}

function check_include(path, quoted) {
  if (path ~ /^(api|backend|sim|conformance|kernels|tools|third_party|docs)\//) {
    if (path !~ allowed)
      violation(layer "/ includes \"" path "\": it may include " allowed_words \
                " only. Depend on an interface of a lower layer, or move this file up.")
    else check_room(path)
  } else if (path ~ /(^|\/)(cuda[A-Za-z_]*|nvrtc|driver_types)\.h$/) {
    if (file !~ /^third_party\/cuda_abi\/(cuda_h_test|cuda_header_facts|cudart_facts)\.cc$/ &&
        file !~ /^sim\/libcudart\/tests\/(driver|runtime)_functions_test\.cc$/ &&
        file !~ /^tools\/examples\/kernels\/device\/.*\.cu$/ &&
        file !~ /^tools\/examples\/runtime\/.*\.(cu|h)$/ &&
        file !~ /^(sim\/libcudart\/comparison|conformance\/runtime)\/.*\.(cu|h)$/ &&
        !(file ~ /^tools\/(examples|run\/testdata)\// && path == "cuda.h"))
      violation("includes CUDA\047s " path ": the build does without the toolkit." \
                " Use third_party/cuda_abi/; only its own tests compare it with cuda.h," \
                " and only programs in tools/examples/ and tools/run/testdata/ are clients of the C interface.")
  } else if (path ~ /^absl\/container\/(flat|node)_hash_/ && file ~ /^(api|sim)\// && !is_test(file)) {
    violation("includes " path ": Debian\047s hash tables of Abseil do not link into libcuda.so.1. Use absl/container/btree_*.h.")
  } else if (quoted && (path !~ /\// || path ~ /^\.\.?\//)) {
    violation("relative include \"" path "\". Write the path from the root of the repository.")
  }
}

# The rooms of the simulator, each above those before it. What is in none of them (the simulator
# itself, libcuda/, testing/, tests/) is above all.
BEGIN {
  rooms = split("base coherence/model coherence/monitor profile host memory mmu ptx/text " \
                "ptx/operations ptx/matrices ptx/textures ptx/program ptx/tensors ptx/run ptx/decode streams state diagnostics " \
                "calls/multicast calls/vmm calls/executor calls/linear calls/arrays calls/endpoints", room)
}

# The number of the room that a file of sim/ is in; 0: none. Litmus tests run on the monitor alone.
function room_of(path, i) {
  for (i = 1; i <= rooms; ++i)
    if (index(path, "sim/" room[i] "/") == 1) return i
  return index(path, "sim/coherence/litmus/") == 1 ? 3 : 0
}
# Tests and benchmarks may use the machine that they need.
function is_test(path) { return path ~ /(_test|_benchmark|_fuzzer)\.cc$|_testing\.(h|cc)$/ }

function check_room(path, from, to) {
  if (file !~ /^sim\// || path !~ /^sim\// || is_test(file)) return
  from = room_of(file)
  to = room_of(path)
  if (from != 0 && (to == 0 || to > from))
    violation("room sim/" room[from] "/ includes \"" path "\": it may include the rooms before it" \
              " only, in the order of sim/README.md. Move what both need down, or this file up.")
}

{
  file = $0
  set_layer()
  for (line = 1; (getline text < file) > 0; ++line)
    if (match(text, /^[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]/)) {
      text = substr(text, RSTART, RLENGTH - 1)
      quoted = match(text, /"/)
      sub(/^[^"<]*["<]/, "", text)
      check_include(text, quoted)
    }
  close(file)
  line -= 1
  if (file ~ /^api\/.*\.h$/ && line > 300)
    violation("public header of " line " lines: at most 300. Split it by concern.")
}
END { exit bad }'
[[ -z $crowded ]]
