// `setAiAccess`: the AI gateway's URL for commands, and the file with their token, which the service replaces while the
// sandbox runs (service/ai-access.ts). The token is in no environment variable.
import { PlatformError } from '#core/errors.ts';
import type { Fields } from '#core/sandbox/arguments.ts';
import type { SecretFiles } from './secret-files.ts';

const FILE = 'ai-token';

interface AiAccess {
  /** @param fields `url` and `token`; without them, access is removed. */
  set(fields: Fields): Promise<void>;
  /** Environment for commands started from now on. */
  variables(): Readonly<Record<string, string>>;
}

export function createAiAccess(secrets: SecretFiles): AiAccess {
  let variables: Readonly<Record<string, string>> = {};
  return {
    async set({ url, token }) {
      if (token === undefined) return secrets.remove(FILE);
      if (typeof url !== 'string' || typeof token !== 'string')
        throw new PlatformError('invalid_argument', { reason: 'url and token must be texts' });
      const file = await secrets.put(FILE, token);
      variables = { PLATFORM_AI_URL: url, PLATFORM_AI_TOKEN_FILE: file };
    },
    variables: () => variables,
  };
}
