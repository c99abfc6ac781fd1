#!/usr/bin/env -S node --
// The command `platform` of a project that links to this checkout. `--` above: as in cli/run.mjs.
await import('../run.mjs');
