// `npm run test:e2e`: what a new user does, by the README's and the documentation's own lines, in a fresh copy of the
// repository, the packed packages, `npm start` and the dashboard in a browser. It installs and builds for a minute, so
// it is no part of `npm test`.
import { run as runTests } from './test.ts';

export function run(words: readonly string[]): Promise<number> {
  return runTests(['test/e2e/', ...words.filter((word) => word.startsWith('--'))]);
}
