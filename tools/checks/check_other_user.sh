#!/bin/bash
# The tests of what asks the host for files, memory and processes, as a user that has no rights and no
# home: after `tools/bazel test //...`, with the tests that it has built. As root only; others are
# such a user already. One test is left out, which makes each failure itself and takes a minute.
set -u
cd "$(dirname "$0")/../.."
((EUID == 0)) || { echo "not root: all tests have run as another user"; exit 0; }

# Nobody has this number.
as_user=(setpriv --reuid=54321 --regid=54321 --clear-groups --no-new-privs)
folder=$(mktemp -d /tmp/other_user.XXXXXX)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
places='//api/files:all + //api/record:all + //api/sharing:all + //sim/host:all + //sim/libcuda/... +
  //sim/tests:all + //tools/run:all'
tests=$(tools/bazel query --noshow_progress --ui_event_filters=-info \
  "kind(cc_test, attr(args, '^\[\]\$', $places)) except attr(tags, 'requires-gpu', $places)
    except //sim/tests:host_failure_test") || exit
[[ -n $tests ]] || { echo "there are no tests"; exit 1; }
tools/bazel build --noshow_progress --ui_event_filters=-info $tests || exit

# Runs a test where that user may read it, with the files that it names.
run_test() {  # LABEL FOLDER
  local path=${1#//} workspace
  path=${path/:/\/}
  mkdir "$2" && cp -rL "bazel-bin/$path.runfiles" "$2/files" && mkdir -m 1777 "$2/tmp" || return
  chmod -R a+rX "$2"
  workspace=$(dirname "$(cd "$2/files" && ls -d ./*/"${path%%/*}" | head -n 1)")
  (cd "$2/files/$workspace" &&
    HOME=/nonexistent TMPDIR=$2/tmp TEST_TMPDIR=$2/tmp TEST_SRCDIR=$2/files \
      timeout 600 "${as_user[@]}" "./$path") > "$2/log" 2>&1 < /dev/null ||
    { echo "$1 fails as another user:"; tail -n 40 "$2/log"; return 1; }
  rm -rf "$2"
}

number=0
for label in $tests; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  number=$((number + 1))
  { run_test "$label" "$folder/$number" || touch "$folder/failed"; } &
done
wait
[[ ! -e $folder/failed ]]
