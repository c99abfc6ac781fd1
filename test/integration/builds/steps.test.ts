// The steps of a build in this process, where a test costs no more than its commands. Confined processes and the real
// npm are asked some of it by whole.test.ts and test/contract/build-commands.ts, and more by test/builds/steps.test.ts.
import { commandCases, decisionCases } from '#test/setup/build-cases.ts';
import { inProcess } from '#test/setup/builds-in-process.ts';

commandCases(inProcess);
decisionCases(inProcess);
