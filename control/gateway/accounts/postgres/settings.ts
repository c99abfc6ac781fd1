// What organizations set themselves: providers with sealed keys, aliases, `auto`, limits. Remembered for a moment; who
// changes something tells gateways.
import { unseal, type EncryptionKeys } from '#core/encryption.ts';
import type { Statements } from '#postgres/connection.ts';
import type { Caller, GatewayParts, ModelTable, ProviderConfig, ProviderKind } from '../../contract.ts';
import type { Limit } from '../accounts.ts';
import { createRemembered } from './remembered.ts';

const REMEMBERED_MS = 30_000;
const REMEMBERED_MAX = 10_000;

/** What a key of a provider belongs to. */
export const providerContext = (organizationId: string, name: string): string =>
  `ai_provider:${organizationId}:${name}`;

type SetLimit = Omit<Limit, 'scope'>;

interface Own extends ModelTable {
  readonly limits: readonly SetLimit[];
  /** Of projects, by id. */
  readonly projectLimits: ReadonlyMap<string, readonly SetLimit[]>;
}

export interface OrganizationSettings {
  /** The operator's providers and the organization's own, which come first. */
  readonly table: (organizationId: string) => Promise<ModelTable>;
  /** Of the organization and of the project. */
  readonly limitsOf: (caller: Caller) => Promise<readonly Limit[]>;
  /** @param organizationId null: all. */
  forget(organizationId: string | null): void;
}

interface Parts {
  readonly sql: Statements;
  readonly keys: EncryptionKeys;
  /** Of the operator. */
  readonly table: ModelTable;
  readonly now: () => number;
  readonly log: GatewayParts['log'];
}

export function createSettings(parts: Parts): OrganizationSettings {
  const { table: common, now } = parts;
  const remembered = createRemembered<Own>({ most: REMEMBERED_MAX, ms: REMEMBERED_MS, now });
  const own = (organizationId: string): Promise<Own> =>
    remembered.get(organizationId, () => read(parts, organizationId));
  return {
    async table(organizationId) {
      const { providers, aliases, auto } = await own(organizationId);
      if (providers.length === 0 && auto.length === 0 && Object.keys(aliases).length === 0) return common;
      const names = new Set(providers.map(({ name }) => name));
      return {
        providers: [...providers, ...common.providers.filter(({ name }) => !names.has(name))],
        aliases: { ...common.aliases, ...aliases },
        auto: auto.length > 0 ? auto : common.auto,
      };
    },
    async limitsOf({ organizationId, projectId }) {
      const { limits, projectLimits } = await own(organizationId);
      const ofProject = projectId === null ? [] : (projectLimits.get(projectId) ?? []);
      if (limits.length === 0 && ofProject.length === 0) return [];
      return [
        ...limits.map((limit): Limit => ({ ...limit, scope: 'organization' })),
        ...ofProject.map((limit): Limit => ({ ...limit, scope: 'project' })),
      ];
    },
    forget(organizationId) {
      if (organizationId === null) remembered.forgetAll();
      else remembered.forget(organizationId);
    },
  };
}

async function read({ sql, keys, log }: Parts, organizationId: string): Promise<Own> {
  const rows = await sql.all<{ name: string; kind: ProviderKind; url: string; key: Buffer | null; models: string[] }>(
    `SELECT name, kind, url, key, models FROM control.ai_provider WHERE organization_id = $1 AND enabled ORDER BY name`,
    organizationId,
  );
  const settings = await sql.all<{
    project_id: string | null;
    aliases: Record<string, string>;
    auto: string[];
    limits: SetLimit[];
  }>(`SELECT project_id, aliases, auto, limits FROM control.ai_settings WHERE organization_id = $1`, organizationId);
  const providers = rows.flatMap(({ key, ...row }): ProviderConfig[] => {
    try {
      const opened = key === null ? '' : unseal(keys, key, providerContext(organizationId, row.name));
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
  };
}
