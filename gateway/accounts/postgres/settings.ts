// Settings of organizations: providers with encrypted keys, aliases, `auto`, limits. Cached briefly; a change
// invalidates the cache of every gateway.
import { usualAuto } from '#core/ai-settings.ts';
import { unseal, type EncryptionKeys } from '#core/encryption.ts';
import type { Statements } from '#postgres/connection.ts';
import type { Caller, GatewayDeps, ModelTable, ProviderConfig, ProviderKind } from '../../contract/contract.ts';
import type { Limit, LimitScope, SetLimit } from '../accounts.ts';
import { createRemembered } from './remembered.ts';

const REMEMBERED_MS = 30_000;
const REMEMBERED_MAX = 10_000;

/** The encryption context of a provider's key. */
export const providerContext = (providerId: string): string => `ai_provider:${providerId}`;

interface Own extends ModelTable {
  readonly limits: readonly SetLimit[];
  /** By project id. */
  readonly projectLimits: ReadonlyMap<string, readonly SetLimit[]>;
  /** By key id. */
  readonly keyLimits: ReadonlyMap<string, readonly SetLimit[]>;
}

interface OrganizationSettings {
  /** The operator's providers and the organization's own, which take precedence. */
  readonly table: (organizationId: string) => Promise<ModelTable>;
  /** Limits of the organization, the project and the key. */
  readonly limitsOf: (caller: Caller) => Promise<readonly Limit[]>;
  /** @param organizationId null means all organizations. */
  forget(organizationId: string | null): void;
}

/** Units of a currency in millionths. */
const toMicros = (units: number): number => Math.round(units * 1_000_000);

interface Deps {
  readonly sql: Statements;
  readonly keys: EncryptionKeys;
  /** Settings of the operator. */
  readonly table: ModelTable;
  readonly now: () => number;
  readonly log: GatewayDeps['log'];
}

export function createSettings(deps: Deps): OrganizationSettings {
  const { table: common, now } = deps;
  const remembered = createRemembered<Own>({ most: REMEMBERED_MAX, ms: REMEMBERED_MS, now, keepsOld: true });
  const own = (organizationId: string): Promise<Own> =>
    remembered.get(organizationId, () => read(deps, organizationId));
  return {
    async table(organizationId) {
      const { providers, aliases, auto } = await own(organizationId);
      if (providers.length === 0 && auto.length === 0 && Object.keys(aliases).length === 0) return common;
      const names = new Set(providers.map(({ name }) => name));
      const all = [...providers, ...common.providers.filter(({ name }) => !names.has(name))];
      const named = auto.length > 0 ? auto : common.auto;
      return {
        providers: all,
        aliases: { ...common.aliases, ...aliases },
        auto: named.length > 0 ? named : usualAuto(all),
      };
    },
    async limitsOf({ organizationId, projectId, keyId }) {
      let found = await own(organizationId);
      // A new key may be used here before its notification arrives.
      if (keyId !== undefined && !found.keyLimits.has(keyId)) {
        remembered.forget(organizationId);
        found = await own(organizationId);
      }
      const { limits, projectLimits, keyLimits } = found;
      const scoped = (scope: LimitScope, set: readonly SetLimit[] | undefined): Limit[] =>
        (set ?? []).map((limit) => ({
          ...limit,
          scope,
          most: limit.of === 'cost' ? toMicros(limit.most) : limit.most,
        }));
      return [
        ...scoped('organization', limits),
        ...(projectId === null ? [] : scoped('project', projectLimits.get(projectId))),
        ...(keyId === undefined ? [] : scoped('key', keyLimits.get(keyId))),
      ];
    },
    forget(organizationId) {
      if (organizationId === null) remembered.forgetAll();
      else remembered.forget(organizationId);
    },
  };
}

async function read({ sql, keys, log }: Deps, organizationId: string): Promise<Own> {
  const rows = await sql.all<{
    id: string;
    name: string;
    kind: ProviderKind;
    url: string;
    key: Buffer | null;
    models: string[];
  }>(
    `SELECT id, name, kind, url, key, models FROM control.ai_provider WHERE organization_id = $1 AND enabled ORDER BY name`,
    organizationId,
  );
  const settings = await sql.all<{
    project_id: string | null;
    aliases: Record<string, string>;
    auto: string[];
    limits: SetLimit[];
  }>(`SELECT project_id, aliases, auto, limits FROM control.ai_settings WHERE organization_id = $1`, organizationId);
  const keyed = await sql.all<{ id: string; limits: SetLimit[] }>(
    `SELECT id, limits FROM control.ai_token WHERE organization_id = $1 AND kind = 'key'`,
    organizationId,
  );
  const providers = rows.flatMap(({ id, key, ...row }): ProviderConfig[] => {
    try {
      const opened = key === null ? '' : unseal(keys, key, providerContext(id));
      return [{ ...row, key: opened, isPrivate: false }];
    } catch {
      log('error', 'the key of an AI provider cannot be unsealed', { organizationId, provider: row.name });
      return [];
    }
  });
  const whole = settings.find((row) => row.project_id === null);
  return {
    providers,
    aliases: whole?.aliases ?? {},
    auto: whole?.auto ?? [],
    limits: whole?.limits ?? [],
    projectLimits: new Map(settings.flatMap((row) => (row.project_id === null ? [] : [[row.project_id, row.limits]]))),
    keyLimits: new Map(keyed.map(({ id, limits }) => [id, limits])),
  };
}
