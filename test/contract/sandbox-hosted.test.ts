// The contract of sandboxes over a provider of hosted machines: a double that speaks the API of
// docs/sandbox-provider.md.
import { openHostedCase } from '#test/setup/sandbox-cases.ts';
import { testSandboxBackend } from './sandbox.ts';

testSandboxBackend('a hosted provider', openHostedCase);
