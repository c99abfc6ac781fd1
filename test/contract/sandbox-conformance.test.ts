// The calls of sandboxes over kinds of machines that need no container engine, and the table of all.
import { openHostedCase, openLocalCase } from '#test/setup/sandbox-cases.ts';
import { testConformance, testConformanceTable } from './sandbox-conformance.ts';

testConformanceTable();
testConformance('hosted provider', openHostedCase);
testConformance('local processes', openLocalCase);
