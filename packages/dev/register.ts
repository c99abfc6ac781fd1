// `node --import @platform-run/dev/register`: `env` is there before the program's own code, for code that asks for it
// by `Symbol.for('platform.env')` and cannot wait.
import { getPlatformEnv } from './index.ts';

await getPlatformEnv();
