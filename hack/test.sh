#!/bin/sh
# Runs and counts the tests of every package in the modules MODULE..., for `make test`.
#
#   hack/test.sh MODULE...
#
# RACE lists package patterns of the first module that run under the race detector. The race detector needs a C compiler, and the last line
# says whether it ran. The exit status is not 0 if a test fails, a package does not build, or a process dies.
set -eu

case ${1-} in
--json) # called by gotestsum below: writes the events of all modules as one stream
  shift
  status=0
  packages=$(($(nproc 2> /dev/null || getconf _NPROCESSORS_ONLN) + 1)) # at once; some mostly wait, such as controllers
  events() {
    module=$1
    shift
    # Without vet, which make verify runs, and which would analyse all dependencies once more for the race detector.
    go -C "$module" test -json -vet=off -p "$packages" -timeout 17m "$@" || status=1
  }
  first=$1
  shift
  if [ -n "$RACE" ]; then
    # shellcheck disable=SC2086 # lists of patterns and packages
    raced=$(go -C "$first" list $RACE)
    # shellcheck disable=SC2086
    CGO_ENABLED=1 events "$first" -race $raced
    rest=$(go -C "$first" list ./... | grep -vxF "$raced") || true
    # shellcheck disable=SC2086
    [ -z "$rest" ] || events "$first" $rest
  else
    events "$first" ./...
  fi
  # -count=1, because tests of the other modules read files of the first one, such as config, which the go command does not track.
  for module; do events "$module" -count=1 ./...; done
  exit "$status"
  ;;
esac

detector=
if [ -n "${RACE-}" ]; then
  if reason=$(CGO_ENABLED=1 go build -race runtime/cgo 2>&1); then
    # shellcheck disable=SC2086
    detector="race detector: on for $(go -C "$1" list $RACE | wc -l) of $(go -C "$1" list ./... | wc -l) packages"
  else
    detector="RACE DETECTOR DID NOT RUN: $(echo "$reason" | tail -n 1)"
    RACE=
  fi
fi
export RACE="${RACE-}"
script=$(realpath "$0")
gotestsum=$(CGO_ENABLED=0 go tool -n -modfile="$(dirname "$script")/tools/go.mod" gotestsum)
status=0
"$gotestsum" --format pkgname-and-test-fails --format-icons text --hide-summary output --raw-command -- "$script" --json "$@" || status=$?
[ -z "$detector" ] || echo "$detector"
exit "$status"
