// The calls of sandboxes over containers of this engine, as the table of docs/sandbox-conformance.md has them.
import { testConformance } from '#test/contract/sandbox-conformance.ts';
import { engineName, openTestContainerCase } from '#test/setup/sandbox-containers.ts';

testConformance(engineName === 'docker' ? 'Docker' : 'podman', () => openTestContainerCase());
