# Of each exported function that the sources define: {"symbol", "what its parameters are"}. The
# letters are in random_calls.cc. Left out are those that take a structure or a number by value that
# is in no general register, or that declare no parameters.

function Letter(type) {
  gsub(/\/\*.*\*\//, "", type)
  if (type ~ /(Callback|CUhostFn|SharedForThreads)( [a-z_]+)?$/) return "f"
  if (type ~ /const char\*($| )/) return "s"
  if (type ~ /void\*\*/) return "v"
  if (type ~ /^ *const CU(graphNode|stream|event|contex|graph|greenCtx|devResourceDesc)\*/) return "i"
  if (type ~ /^ *CUdeviceptr\*/) return "d"
  if (type ~ /^ *CU[a-zA-Z]+\*/) return "o"
  if (type ~ /\*/) return "p"
  return "h"
}

function Tell(text,   symbol, count, parameters, letters, i) {
  symbol = text
  sub(/^extern "C" CUresult /, "", symbol)
  sub(/\(.*/, "", symbol)
  sub(/^[^(]*\(/, "", text)
  sub(/\) \{.*/, "", text)
  gsub(/\([^()]*\)\([^()]*\)/, "Callback", text)
  if (text ~ /float|double|Ipc[A-Za-z]*Handle /) return
  count = split(text, parameters, ",")
  letters = ""
  for (i = 1; i <= count; ++i) letters = letters Letter(parameters[i])
  if (count <= 14) printf "    {\"%s\", \"%s\"},\n", symbol, letters
}

/^extern "C" CUresult cu/ { taking = 1; text = "" }
taking {
  text = text $0
  if ($0 ~ /\) \{/) {
    Tell(text)
    taking = 0
  }
}
