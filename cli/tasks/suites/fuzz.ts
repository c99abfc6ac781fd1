// `npm test -- fuzz`: parsers of untrusted bytes with 100,000 inputs each; the quick rung tries some hundreds. The seed
// is printed with a failure.
import { allTestFiles, runTestFiles } from './test-files.ts';

const ROUNDS = '100000';
const files: Readonly<Record<string, { readonly part: string; readonly variable: string }>> = {
  webhooks: { part: 'webhook-fuzz', variable: 'WEBHOOK_FUZZ_ROUNDS' },
  archives: { part: 'deployments/archive-fuzz', variable: 'FUZZ_RUNS' },
};

/** @param words which of them; none for all. */
export async function run(words: readonly string[]): Promise<number> {
  let code = 0;
  for (const [name, { part, variable }] of Object.entries(files)) {
    if (words.length > 0 && !words.includes(name)) continue;
    process.env[variable] ??= ROUNDS;
    const chosen = allTestFiles().filter((file) => file.includes(part));
    code = (await runTestFiles(chosen, [])) || code;
  }
  return code;
}
