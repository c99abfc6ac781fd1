// The secrets of an installation, by variable: detects weak values, and lists the commands that generate good ones.
// Used by `platform secrets init`, and by the supervisor when it starts separately. Values are in no message.
import { parseDatabaseUrl } from '../database-url.ts';
import { encryptionKeyProblem, secretProblem } from './generated-secrets.ts';

/** Command that generates the secrets of an installation. */
export const MAKE_SECRETS = 'platform secrets init';

/** One secret. */
interface SecretVariable {
  readonly name: string;
  /** Description, for the comment next to the variable. */
  readonly what: string;
  /** Only needed if this variable is set. */
  readonly with?: string;
}

/** All secrets that only the platform chooses. */
export const secretVariables: readonly SecretVariable[] = [
  { name: 'SQLDB_PASSWORD', what: 'Password of Postgres, for the owner of the tables' },
  { name: 'ENGINE_SQLDB_PASSWORD', what: 'Password of Postgres, for engines: access to the tables of bindings only' },
  {
    name: 'SANDBOX_SQLDB_PASSWORD',
    what: 'Password of Postgres, for the sandbox service: access to the table of sandboxes only',
  },
  { name: 'CACHE_PASSWORD', what: 'Password of Redis' },
  { name: 'ENGINE_CACHE_PASSWORD', what: 'Password of Redis, for engines: access to the keys of the cache only' },
  { name: 'AUTH_SECRET', what: 'Signs sessions of the dashboard' },
  { name: 'ENCRYPTION_KEY', what: 'Encrypts variables of projects in Postgres: keep it with your backups' },
  { name: 'ENGINE_SECRET', what: 'Signs sessions of apps and addresses of files' },
  { name: 'PRIVATE_PORT_TOKEN', what: 'Authenticates the API and the broker at the private port of handlers' },
  { name: 'DB_SERVICE_TOKEN', what: 'Authenticates handlers at the database service' },
  { name: 'SANDBOX_AUTH_TOKEN', what: 'Authenticates handlers, the API and the builder at the sandbox service' },
  { name: 'WEB_TOKEN', what: 'Authenticates the web process, which serves the dashboard, at the API' },
  {
    name: 'EDGE_TOKEN',
    what: 'Identifies requests through Caddy to handlers and the API, if they run separately',
    with: 'PUBLIC_HTTPS',
  },
  { name: 'GITHOST_WEBHOOK_SECRET', what: 'Signs deliveries of the Git host', with: 'GITHOST_APP_ID' },
];

/** URLs that contain a password. */
const addresses = [
  'DATABASE_URL',
  'ENGINE_DATABASE_URL',
  'SANDBOX_DATABASE_URL',
  'CACHE_URL',
  'ENGINE_CACHE_URL',
] as const;

/** A weaker rule for passwords, which a provider may have chosen. */
const PASSWORD_CHARS_MIN = 16;

/** Placeholder values in examples; hexadecimal digits never form such a word. */
const EXAMPLE = /change.?(?:me|this)|example|passw|secret|replace|your[-_]|insert|todo|qwert|letmein|admin|postgres/i;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Why the value of a secret is weak; null if it is not.
 *
 * @example weaknessOf('SQLDB_PASSWORD', 'postgres') // 'SQLDB_PASSWORD is weak: ...'
 */
export function weaknessOf(name: string, value: string, charsMin?: number): string | null {
  const trimmed = value.trim();
  if (trimmed !== '' && EXAMPLE.test(trimmed)) return `${name} is a word of an example, not a secret`;
  return name === 'ENCRYPTION_KEY' ? encryptionKeyProblem(trimmed) : secretProblem(name, trimmed, charsMin);
}

/**
 * All weak secrets that are set, including passwords in URLs.
 *
 * @returns lines for one error, the last one with the command that fixes it; empty if all are strong.
 */
export function weakSecrets(environment: Environment): readonly string[] {
  const named = secretVariables.map(({ name }) => [name, environment[name] ?? '', undefined] as const);
  const inAddresses = addresses.map(
    (name) => [`the password in ${name}`, passwordOf(environment[name] ?? ''), PASSWORD_CHARS_MIN] as const,
  );
  const weak = [...named, ...inAddresses].flatMap(([name, value, charsMin]) =>
    value === '' ? [] : (weaknessOf(name, value, charsMin) ?? []),
  );
  return weak.length === 0 ? [] : [...weak, `\`${MAKE_SECRETS}\` makes good ones in .env`];
}

function passwordOf(address: string): string {
  const password = (parseDatabaseUrl(address) ?? URL.parse(address))?.password ?? '';
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
