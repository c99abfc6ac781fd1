// The contract of sandboxes over a provider of hosted machines: a double that speaks the API of
// docs/sandbox-provider.md.
import { testSandboxBackend } from '#test/contract/sandbox.ts';
import { openHostedCase } from '#test/setup/sandbox-cases.ts';

// Each connection starts a program on the machine.
testSandboxBackend('a hosted provider', openHostedCase, { garbageRounds: 30 });
