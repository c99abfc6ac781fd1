// The calls of sandboxes over containers of this engine, as the table of docs/sandbox-conformance.md has them.
import assert from 'node:assert/strict';
import { testConformance } from '#test/contract/sandbox-conformance.ts';
import { engineName, openTestContainerCase } from '#test/setup/sandbox-containers.ts';

const column = { docker: 'Docker', podman: 'podman' }[engineName];
assert.ok(column === 'Docker' || column === 'podman', `no column for ${engineName}`);
testConformance(column, () => openTestContainerCase());
