// The shared variables of an installation, which a token contains for a new machine. Pure.
import { encryptionKeyProblem, secretProblem } from '#core/process/generated-secrets.ts';
import { isHttpsOn } from '#core/public-https.ts';
import { MAKE_SECRETS } from '#core/process/secret-variables.ts';

/** Values by name. */
export type Variables = Readonly<Record<string, string>>;

const SHARED =
  /^(?:AUTH_(?:SECRET|URL|MAIL_URL)|ENCRYPTION_KEY|ENGINE_(?:SECRET|CACHE_URL)|(?:PRIVATE_PORT|DB_SERVICE|WEB|EDGE)_TOKEN|SANDBOX_(?:URL|AUTH_TOKEN)|(?:FILES|ARTIFACTS|BACKUP|DB_REPLICA)_S3_[A-Z_]+|HANDLER_DOMAIN|PUBLIC_(?:PROTOCOL|PORT|HTTPS|API_URL|ADDRESSES)|DOCS_URL|CACHE_URL|DB_(?:URL|STORAGE_MODE|MIGRATIONS_EXECUTOR|REPLICATION|REPLICA_PREVIEWS|LEASE_MS)|DBCLOUD_[A-Z_]+|TRUSTED_PROXIES|AI_[A-Z0-9_]+|OIDC_[A-Z_]+|GITHOST_[A-Z_]+|MAIL_[A-Z_]+|SIGN_(?:IN|UP)|(?:WORKER|QUEUE|TIMER|WORKFLOW|LOG|TRACE|OTEL|MACHINE_CLOCK)_[A-Z_]+)$/;

/** The shared variables of an environment. */
export function sharedVariables(environment: Readonly<Record<string, string | undefined>>): Variables {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => {
      const text = value?.trim() ?? '';
      return SHARED.test(name) && text !== '' ? [[name, text]] : [];
    }),
  );
}

/** Why other machines cannot join with these variables: each machine would create its own secrets. */
export function sharingProblems(shared: Variables): string[] {
  const get = (name: string): string => shared[name] ?? '';
  const secrets = ['AUTH_SECRET', 'PRIVATE_PORT_TOKEN', ...(isHttpsOn(get('PUBLIC_HTTPS')) ? ['EDGE_TOKEN'] : [])];
  const problems = [
    ...secrets.map((name) => secretProblem(name, get(name), name === 'AUTH_SECRET' ? undefined : 16)),
    encryptionKeyProblem(get('ENCRYPTION_KEY')),
  ].filter((problem) => problem !== null);
  return problems.length === 0 ? [] : [...problems, `\`${MAKE_SECRETS}\` makes them`];
}
