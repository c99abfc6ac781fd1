// Settings that operators change while the platform runs: variables that only the API process reads. Stored encrypted
// in Postgres, read by every API process. A variable of the environment overrides a stored value.
import type { Logger } from 'pino';
import { seal, unseal, type EncryptionKeys } from '#core/encryption.ts';
import { runRounds } from '#core/process/rounds.ts';
import { settingContext } from '#core/variable-context.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { APPLICATION_SETTING, overridingVariable, parseApplication, type Application } from '#git/host/application.ts';
import { operatorSettingsFrom, type OperatorSettings } from './configuration.ts';

/** Their names. */
export const settingNames = ['AUTH_MAIL_URL', 'MAIL_FROM', 'SIGN_IN', 'SIGN_UP'] as const;
export type SettingName = (typeof settingNames)[number];

/** Settings whose value is never shown. */
const SECRETS = new Set<SettingName>(['AUTH_MAIL_URL']);
const CHANNEL = 'control_setting';
const POLL_MS = 30_000;

/** A setting, as operators see it. */
export interface Setting {
  readonly name: SettingName;
  /** The value; null if the setting is not set or is a secret. */
  readonly value: string | null;
  readonly isSecret: boolean;
  readonly source: 'environment' | 'platform' | 'default';
  readonly changedBy: string | null;
  readonly changedAt: Date | null;
}

/** Values to store, or null. */
export type SettingChanges = Readonly<Partial<Record<SettingName, string | null>>>;

/** The settings of a running platform. */
export interface LiveSettings {
  current(): OperatorSettings;
  /** The application of the Git host that an operator has created; null means none, or variables override it. */
  application(): Application | null;
  /** The variable that overrides a stored application, or null. */
  readonly applicationVariable: string | null;
  list(): Promise<Setting[]>;
  /** Whether the environment sets the variable, so that a stored value has no effect. */
  isFixed(name: SettingName): boolean;
  /** @throws {Error} naming the setting, if the platform cannot run with these changes. */
  check(changes: SettingChanges): void;
  write(tx: Transaction, changes: SettingChanges, accountId: string): Promise<void>;
  /** Stores the application, or removes it. */
  writeApplication(tx: Transaction, application: Application | null, accountId: string): Promise<void>;
  /** Reads the settings again; resolves with whether something changed. */
  reload(): Promise<boolean>;
}

interface Deps {
  readonly sql: Sql;
  readonly keys: EncryptionKeys;
  readonly log: Pick<Logger, 'error'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Reads the stored settings. @throws {Error} if settings of the environment are invalid, or Postgres fails. */
export async function openLiveSettings({ sql, keys, log, environment }: Deps): Promise<LiveSettings> {
  const fixed = (name: string): string => environment[name]?.trim() ?? '';
  let stored: ReadonlyMap<string, string> = new Map();
  let current = operatorSettingsFrom(fixed);
  let application: Application | null = null;
  const applicationVariable = overridingVariable(environment);
  const over = (values: ReadonlyMap<string, string>) => (name: string) => fixed(name) || (values.get(name) ?? '');

  async function read(): Promise<Map<string, string>> {
    const rows = await sql<{ name: string; value: Buffer }[]>`
      SELECT name, value FROM control.setting WHERE name = ANY(${[...settingNames, APPLICATION_SETTING]}) ORDER BY name`;
    const values = new Map<string, string>();
    for (const { name, value } of rows) {
      try {
        values.set(name, unseal(keys, value, settingContext(name)));
      } catch (error) {
        log.error({ name, reason: (error as Error).message }, 'Stored setting cannot be decrypted: set it again');
      }
    }
    return values;
  }

  async function store(tx: Transaction, name: string, value: string | null, accountId: string): Promise<void> {
    if (value === null) await tx`DELETE FROM control.setting WHERE name = ${name}`;
    else
      await tx`
        INSERT INTO control.setting (name, value, changed_by)
        VALUES (${name}, ${seal(keys, value, settingContext(name))}, ${accountId})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_by = excluded.changed_by, changed_at = now()`;
  }

  const settings: LiveSettings = {
    current: () => current,
    application: () => application,
    applicationVariable,
    isFixed: (name) => fixed(name) !== '',
    check: (changes) => void operatorSettingsFrom(over(changed(stored, changes))),
    async list() {
      const rows = await sql<{ name: string; changed_at: Date; login: string | null }[]>`
        SELECT setting.name, changed_at, login
          FROM control.setting LEFT JOIN control.account ON account.id = changed_by`;
      return settingNames.map((name) => {
        const row = rows.find((one) => one.name === name);
        const value = over(stored)(name);
        const isSecret = SECRETS.has(name);
        return {
          name,
          value: isSecret || value === '' ? null : value,
          isSecret,
          source: fixed(name) !== '' ? 'environment' : value === '' ? 'default' : 'platform',
          changedBy: row?.login ?? null,
          changedAt: row?.changed_at ?? null,
        };
      });
    },
    async write(tx, changes, accountId) {
      for (const [name, value] of Object.entries(changes)) await store(tx, name, value, accountId);
      await tx`SELECT pg_notify(${CHANNEL}, '')`;
    },
    async writeApplication(tx, value, accountId) {
      await store(tx, APPLICATION_SETTING, value === null ? null : JSON.stringify(value), accountId);
      await tx`SELECT pg_notify(${CHANNEL}, '')`;
    },
    async reload() {
      const values = await read();
      const isSame = values.size === stored.size && [...values].every(([name, value]) => stored.get(name) === value);
      if (isSame) return false;
      stored = values;
      const created = applicationVariable === null ? values.get(APPLICATION_SETTING) : undefined;
      application = created === undefined ? null : parseApplication(created);
      try {
        current = operatorSettingsFrom(over(values));
      } catch (error) {
        // Stored settings were valid when they were stored, but the environment has changed since.
        log.error({ reason: (error as Error).message }, 'Stored settings are not used');
        current = operatorSettingsFrom(fixed);
      }
      return true;
    },
  };
  await settings.reload();
  return settings;
}

function changed(stored: ReadonlyMap<string, string>, changes: SettingChanges): Map<string, string> {
  const values = new Map(stored);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) values.delete(name);
    else values.set(name, value);
  }
  return values;
}

/** Reads the settings again when another process has changed them, until the process ends. */
export function followSettings(
  deps: {
    readonly settings: LiveSettings;
    readonly stopping: AbortSignal;
    readonly log: Pick<Logger, 'error'>;
    readonly onNotify: (channel: typeof CHANNEL, listener: () => void) => Promise<() => Promise<void>>;
  },
  onChange: () => Promise<void>,
): Promise<void> {
  return runRounds(
    deps,
    { failure: 'Settings not read', pollMs: POLL_MS, listen: (wake) => deps.onNotify(CHANNEL, wake) },
    async () => {
      if (await deps.settings.reload()) await onChange();
    },
  );
}
