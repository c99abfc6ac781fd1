// `node --import @platform-run/dev/register`: makes `env` available before the program's own code, for code that
// reads `Symbol.for('platform.env')` synchronously.
import { getPlatformEnv } from './index.ts';

await getPlatformEnv();
