// Secrets shared by every process of an installation. With an external database, the operator sets these secrets. With
// the embedded database, these secrets are generated at the first start and stored in the data folder. Values are in no
// message.
import { join } from 'node:path';
import { encryptionKeys } from '../encryption.ts';
import { hexSecretIn } from './secret-file.ts';

/** Command that generates a secret. */
const MAKE_SECRET = 'openssl rand -hex 32';

const CHARS_MIN = 32;
/** A text with fewer distinct characters is not random. */
const DIFFERENT_CHARS_MIN = 8;

/** The secrets, as environment variables. */
interface SharedSecrets {
  readonly AUTH_SECRET: string;
  /** One key, or several separated by commas; the current key comes first. */
  readonly ENCRYPTION_KEY: string;
}

/**
 * Why a secret is invalid; null if it is valid.
 *
 * @example secretProblem('AUTH_SECRET', '') // 'AUTH_SECRET is not set: make one with `openssl rand -hex 32`'
 */
export function secretProblem(name: string, value: string, charsMin: number = CHARS_MIN): string | null {
  if (value === '') return `${name} is not set: make one with \`${MAKE_SECRET}\``;
  if (value.length >= charsMin && new Set(value).size >= DIFFERENT_CHARS_MIN) return null;
  return `${name} is weak: it needs at least ${charsMin} random characters; make one with \`${MAKE_SECRET}\``;
}

/**
 * The secrets of an installation: from the environment, or from `<folder>/secrets/` (mode 0600), where they are
 * generated if they are missing and `DATABASE_URL` is not set either.
 *
 * @param folder data folder. @throws {Error} that names each missing or weak variable, and the command that generates
 * one.
 */
export function sharedSecrets(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): SharedSecrets {
  const secrets: SharedSecrets = {
    AUTH_SECRET: valueOf(environment, folder, 'AUTH_SECRET', 'auth-secret'),
    ENCRYPTION_KEY: valueOf(environment, folder, 'ENCRYPTION_KEY', 'encryption-key'),
  };
  const problems = [secretProblem('AUTH_SECRET', secrets.AUTH_SECRET), encryptionKeyProblem(secrets.ENCRYPTION_KEY)];
  const found = problems.filter((problem) => problem !== null);
  if (found.length > 0) throw new Error(found.join('\n'));
  return secrets;
}

/** The secret that a builder needs. @throws {Error} as `sharedSecrets`. */
export function sharedEncryptionKey(environment: Readonly<Record<string, string | undefined>>, folder: string): string {
  const key = valueOf(environment, folder, 'ENCRYPTION_KEY', 'encryption-key');
  const problem = encryptionKeyProblem(key);
  if (problem !== null) throw new Error(problem);
  return key;
}

/** Without an external database, all data is in the data folder, and so are the secrets. */
function valueOf(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
  name: keyof SharedSecrets,
  file: string,
): string {
  const given = environment[name]?.trim() ?? '';
  const isEmbedded = (environment['DATABASE_URL']?.trim() ?? '') === '';
  return given === '' && isEmbedded ? hexSecretIn(join(folder, 'secrets', file)) : given;
}

/** Why `ENCRYPTION_KEY` is invalid; null if it is valid. */
export function encryptionKeyProblem(text: string): string | null {
  try {
    encryptionKeys(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
