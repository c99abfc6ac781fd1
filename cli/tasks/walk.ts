// `npm run test:e2e`: what a new user does, by the README's and the documentation's own lines, in a fresh copy of the
// repository. It installs and builds for a minute, so it is no part of `npm test`.
import { run as runTests, walks } from './test.ts';

export function run(words: readonly string[]): Promise<number> {
  return runTests([walks, ...words.filter((word) => word.startsWith('--'))]);
}
