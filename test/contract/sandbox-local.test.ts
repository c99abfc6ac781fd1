// The contract of sandboxes over processes of this machine.
import { openLocalCase } from '#test/setup/sandbox-cases.ts';
import { testSandboxBackend } from './sandbox.ts';

testSandboxBackend('local processes', openLocalCase);
