#!/bin/sh
':' //; exec node -- "$0" "$@"
// The command `platform` of a project that links to this checkout. The shell line keeps Node from taking `--env-file` for a flag of its own.
await import('../run.mjs');
