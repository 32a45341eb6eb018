#!/usr/bin/env bash
# Tests greet.sh; prints what failed and exits 1 if anything did.
set -u
cd "$(dirname "$0")" || exit 1

failures=0
expect() {
    local expected=$1
    shift
    local actual
    actual=$(bash greet.sh "$@")
    if [ "$actual" = "$expected" ]; then
        printf 'ok    greet.sh %s\n' "$*"
    else
        printf 'FAIL  greet.sh %s: expected "%s", got "%s"\n' "$*" "$expected" "$actual"
        failures=$((failures + 1))
    fi
}

expect 'Hello, Ada!' Ada
expect 'Hello, world!'

[ "$failures" -eq 0 ] || exit 1
echo 'all tests passed'
