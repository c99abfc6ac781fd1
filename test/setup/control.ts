// A control plane in the test's process: the API over a database of its own, with an organization, its owner and a
// token. The private port is a double where none is given.
import { openRoutesDisk } from '#control/releases/routes/routes-disk.ts';
import { openArtifactsDisk } from '#artifacts/store/artifact-store-disk.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encryptionKeys } from '#core/encryption.ts';
import { defaultLimits } from '#core/limits.ts';
import { mailSettingsFrom, type MailSettings } from '#core/mail-target.ts';
import { openLog } from '#core/log/log.ts';
import { gitConfigurationFrom } from '#git/configuration.ts';
import { openSql, type Sql } from '#postgres/sql.ts';
import { createApi } from '#control/api/app.ts';
import type { Role, TokenScope } from '#control/access/permissions.ts';
import type { Dependencies } from '#control/process/dependencies.ts';
import { openLiveSettings } from '#control/process/live-settings.ts';
import { createMailer } from '#control/outbound/send-mail.ts';
import type { PrivatePort } from '#control/process/private-port.ts';
import { createKeyedMutex } from '#control/process/keyed-mutex.ts';
import { newId } from '#control/records/ids.ts';
import { createPasswords } from '#control/access/passwords.ts';
import { newSecret } from '#control/access/secrets.ts';
import { createPostgresSessions } from '#control/sessions/session-store-postgres.ts';
import { createSessions } from '#control/sessions/sessions.ts';
import { createTestDatabase } from './postgres.ts';

/** An answer of the API. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever the API answered
  readonly body: any;
}

/** Somebody who calls the API. */
export interface TestAccount {
  readonly accountId: string;
  readonly token: string;
}

/** A control plane. */
export interface TestControl {
  readonly deps: Dependencies;
  readonly sql: Sql;
  readonly databaseUrl: string;
  /** Of the role that engines have. */
  readonly engineUrl: string;
  readonly organizationId: string;
  readonly owner: TestAccount;
  /** Calls the API as the owner, or with another token (null: none). */
  call(method: string, path: string, body?: unknown, token?: string | null): Promise<Answer>;
  /** Sends bytes to the API as the owner. */
  send(method: string, path: string, body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<Answer>;
  /** Hands a request to the API as it is. */
  fetch(request: Request): Promise<Response>;
  /** An account with a role in an organization, and a token of it. */
  account(login: string, memberships?: Readonly<Record<string, Role>>, scope?: TokenScope): Promise<TestAccount>;
  organization(slug: string): Promise<string>;
  /** As if the platform had been started with another AUTH_MAIL_URL; null: none. */
  mailBy(url: string | null): void;
  /** Resolves once what runs in the background now has ended. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const none = (): Promise<string[]> => Promise.resolve([]);
const AUTH_SECRET = 'abcdefabcdefabcdef0123456789abcdef0123456789';

/** Starts it. @param overrides of its dependencies, such as another private port. */
export async function startControl(overrides: Partial<Dependencies> = {}): Promise<TestControl> {
  const database = await createTestDatabase();
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-control-'));
  const sql = openSql({ url: database.url, name: 'test api', connectionsMax: 4 });
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const log = openLog('api', {}, { write: () => {} });
  const keys = encryptionKeys('0123456789abcdef0123456789abcdef');
  const settings = await openLiveSettings({ sql, keys, log, environment: {} });
  let mailSettings: MailSettings | null = null;
  const deps: Dependencies = {
    sql,
    log,
    keys,
    folder,
    privatePort: noPlatform,
    addresses: {
      api: 'http://localhost:4002',
      ui: 'http://localhost:3002',
      domain: 'localhost',
      protocol: 'http',
      port: 4001,
    },
    git: gitConfigurationFrom({}),
    limits: defaultLimits.control,
    cpuLimits: defaultLimits.cpu,
    telemetryLimits: defaultLimits.telemetry,
    storage: { limits: defaultLimits.storage, diskFreeBytesMin: 0, isPostgresLocal: true },
    settings,
    mail: createMailer({ sql, log, keys, settings: () => mailSettings ?? settings.current().mail }),
    names: { txt: none, cname: none, addresses: none },
    edgeState: () => null,
    clientAddress: () => null,
    findSession: () => Promise.resolve(null),
    signIn: {
      sessions: createSessions(createPostgresSessions(sql), AUTH_SECRET),
      secret: AUTH_SECRET,
      gitHost: { url: 'https://git.example', apiUrl: 'https://git.example/api/v3', oauth: null },
      oidc: null,
      signUp: 'invited',
      ways: ['password', 'passkey', 'git-host', 'oidc'],
      passwords: createPasswords(2),
    },
    artifacts: openArtifactsDisk(overrides.folder ?? folder),
    routes: openRoutesDisk(overrides.folder ?? folder),
    uploadLimits: defaultLimits,
    databaseLimits: defaultLimits.database,
    migrationsExecutor: 'engine',
    sandboxes: null,
    operatorAi: { kinds: ['openai'], auto: ['openai/large'] },
    mutex: createKeyedMutex(),
    async onNotify(channel, heard) {
      const { unlisten } = await sql.listen(channel, heard);
      return unlisten;
    },
    background(_what, work) {
      const done: Promise<void> = work().finally(() => void running.delete(done));
      running.add(done);
    },
    stopping: stopping.signal,
    ...overrides,
  };
  const api = createApi();
  const organization = async (slug: string): Promise<string> => {
    const id = newId('organization');
    await sql`INSERT INTO control.organization (id, slug, name) VALUES (${id}, ${slug}, ${slug})`;
    return id;
  };
  const account: TestControl['account'] = async (login, memberships = {}, scope = 'admin') => {
    const accountId = newId('account');
    const { secret, hash } = newSecret('plt');
    await sql`INSERT INTO control.account (id, login) VALUES (${accountId}, ${login})`;
    for (const [organizationId, role] of Object.entries(memberships))
      await sql`INSERT INTO control.membership (organization_id, account_id, role)
        VALUES (${organizationId}, ${accountId}, ${role})`;
    await sql`INSERT INTO control.token (id, hash, hint, name, account_id, scope)
      VALUES (${newId('token')}, ${hash}, ${secret.slice(0, 8)}, 'test', ${accountId}, ${scope})`;
    return { accountId, token: secret };
  };
  const answer = async (request: Request): Promise<Answer> => {
    const response = await api.fetch(request, deps);
    const text = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').includes('json') && text !== '';
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  };
  const organizationId = await organization('acme');
  const owner = await account('ada', { [organizationId]: 'owner' });
  return {
    deps,
    sql,
    databaseUrl: database.url,
    engineUrl: database.engineUrl,
    organizationId,
    owner,
    organization,
    account,
    mailBy(url) {
      const given: Record<string, string> = { AUTH_MAIL_URL: url ?? '', MAIL_FROM: 'Platform <platform@example.com>' };
      mailSettings = mailSettingsFrom((name) => given[name] ?? '');
    },
    fetch: async (request) => api.fetch(request, deps),
    call(method, at, body, token = owner.token) {
      const headers = {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      return answer(
        new Request(`${deps.addresses.api}${at}`, {
          method,
          headers,
          body: body === undefined ? null : JSON.stringify(body),
        }),
      );
    },
    send(method, at, body, headers) {
      const own = { authorization: `Bearer ${owner.token}`, ...headers };
      return answer(new Request(`${deps.addresses.api}${at}`, { method, headers: own, body: new Uint8Array(body) }));
    },
    async settled() {
      await Promise.allSettled(running);
    },
    async close() {
      stopping.abort();
      await Promise.allSettled(running);
      await sql.end({ timeout: 5 });
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const noPlatform: PrivatePort = {
  ask: () => Promise.reject(new Error('No platform runs in this test')),
};
