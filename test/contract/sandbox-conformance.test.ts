// The calls of sandboxes over processes of this machine, and the table of all kinds of machines. test/machines and
// test/sandbox have the others.
import { openLocalCase } from '#test/setup/sandbox-cases.ts';
import { testConformance, testConformanceTable } from './sandbox-conformance.ts';

testConformanceTable();
testConformance('local processes', openLocalCase);
