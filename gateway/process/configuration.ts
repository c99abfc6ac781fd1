// Parses the environment of the gateway process once. One error reports all problems, without secret values.
import { aiSettingsFrom, type AiSettings } from '#core/ai-settings.ts';
import { encryptionKeys, type EncryptionKeys } from '#core/encryption.ts';
import { limitsFrom, type GatewayLimits } from '#core/limits.ts';
import { plans, type Plan } from '#core/plans.ts';
import type { Limit } from '../accounts/accounts.ts';

interface Configuration {
  /** `DATABASE_URL`. */
  readonly databaseUrl: string;
  /** `AI_LISTEN`: path of the socket for token callers. */
  readonly socket: string;
  /** `AI_ENGINES_LISTEN`: path of the socket for engines, whose caller information is trusted. */
  readonly enginesSocket: string;
  /** Decrypts the provider keys of organizations. */
  readonly keys: EncryptionKeys;
  readonly settings: AiSettings;
  readonly planLimits: Readonly<Record<Plan, readonly Limit[]>>;
  readonly limits: GatewayLimits;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {Error} with a line for each problem. */
export function readConfiguration(environment: Environment): Configuration {
  const problems: string[] = [];
  const get = (name: string): string => environment[name]?.trim() ?? '';
  const checked = <Value>(read: () => Value): Value => {
    try {
      return read();
    } catch (error) {
      problems.push((error as Error).message);
      return undefined as never;
    }
  };
  for (const name of ['DATABASE_URL', 'AI_LISTEN', 'AI_ENGINES_LISTEN'])
    if (get(name) === '') problems.push(`${name} is not set`);
  const settings = checked(() => aiSettingsFrom(environment));
  const limits = checked(() => limitsFrom(environment).gateway);
  const keys = checked(() => encryptionKeys(get('ENCRYPTION_KEY')));
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return {
    databaseUrl: get('DATABASE_URL'),
    socket: get('AI_LISTEN'),
    enginesSocket: get('AI_ENGINES_LISTEN'),
    keys,
    settings,
    planLimits: Object.fromEntries(plans.map((plan) => [plan, limitsOf(settings, plan)])) as never,
    limits,
  };
}

/** Limits of a plan apply to organizations. */
function limitsOf({ limits }: AiSettings, plan: Plan): Limit[] {
  const { tokensDay, tokensMonth, requestsMinute, tokensMinute } = limits[plan];
  const scope = 'organization';
  const all: readonly Limit[] = [
    { scope, of: 'requests', per: 'minute', most: requestsMinute },
    { scope, of: 'tokens', per: 'minute', most: tokensMinute },
    { scope, of: 'tokens', per: 'day', most: tokensDay },
    { scope, of: 'tokens', per: 'month', most: tokensMonth },
  ];
  return all.filter(({ most }) => most > 0);
}
