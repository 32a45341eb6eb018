#!/usr/bin/env bash
# Greets whoever is named, or the world.
set -u

greet() {
    local name=$1
    printf 'Hello, %s!\n' "$name"
}

greet "${1:-}"
