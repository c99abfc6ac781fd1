#!/usr/bin/env -S node --
// The command `platform` of a project that links to this checkout. cli/run.mjs explains the `--` above.
await import('../run.mjs');
