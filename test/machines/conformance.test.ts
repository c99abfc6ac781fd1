// The calls of sandboxes over machines of a hosted provider, as the table of docs/sandbox-conformance.md has them.
import { testConformance } from '#test/contract/sandbox-conformance.ts';
import { openHostedCase } from '#test/setup/sandbox-cases.ts';

testConformance('hosted provider', openHostedCase);
