// Address of the bindings: from the environment, or of the `platform dev` that runs in this folder. Used by index.ts.
import type { Address } from './connection.ts';

/** @throws if neither the variables nor a running `platform dev` provide an address. */
export function findAddress(): Address {
  const { PLATFORM_MOCK_SERVER_URL: url, PLATFORM_MOCK_SERVER_TOKEN: token } = process.env;
  if (url !== undefined && url !== '') {
    if (token === undefined || token === '')
      throw new Error('PLATFORM_MOCK_SERVER_URL is set and PLATFORM_MOCK_SERVER_TOKEN is not: set both');
    return { url, token };
  }
  const fs = process.getBuiltinModule('node:fs');
  const path = process.getBuiltinModule('node:path');
  for (let folder = process.cwd(); ; folder = path.dirname(folder)) {
    const state = path.join(folder, '.platform', 'dev');
    const found = fs.existsSync(state)
      ? fs.readdirSync(state).filter((name) => /^mock-server-.+\.json$/.test(name))
      : [];
    if (found.length > 1)
      throw new Error(
        `Several projects run in ${folder} (${found.join(', ')}): set PLATFORM_MOCK_SERVER_URL and PLATFORM_MOCK_SERVER_TOKEN to those of one`,
      );
    if (found[0] !== undefined) return JSON.parse(fs.readFileSync(path.join(state, found[0]), 'utf8')) as Address;
    if (path.dirname(folder) === folder) break;
  }
  throw new Error(
    'No platform found: start `platform dev` in the folder of the project, or set PLATFORM_MOCK_SERVER_URL and PLATFORM_MOCK_SERVER_TOKEN',
  );
}
