// A Git host for tests, on real sockets: its pages and clones at one URL, its REST API and the sign-in of its users
// below it. Repositories are real and served by `git http-backend`; a push sends the signed webhook. What it checks, it
// checks as the real one does: the application's token by the public key, installation tokens by repository and right.
import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { answerRequest } from './git-host-requests.ts';
import { commitTo, createBareRepository, tipOf, type TestCommit } from './git-repositories.ts';

/** Somebody who has an account there. */
export interface HostUser {
  readonly id: number;
  readonly login: string;
  readonly name: string;
  readonly email: string;
}

/** A repository there. */
export interface HostedRepository {
  readonly id: number;
  /** `owner/name`; a test that renames it changes it. */
  fullName: string;
  /** The bare repository. */
  readonly folder: string;
  readonly installationId: number;
  defaultBranch: string;
  isPrivate: boolean;
  isArchived: boolean;
  /** Logins that may push to it; everybody else who sees the installation may read. */
  readonly pushers: Set<string>;
  readonly statuses: { readonly sha: string; readonly state: string; readonly [field: string]: unknown }[];
  readonly comments: { readonly id: number; readonly number: number; body: string }[];
}

/** An installation of the application. */
export interface HostedInstallation {
  readonly id: number;
  readonly account: string;
  readonly permissions: Record<string, string>;
  /** Logins that may use it. */
  readonly users: Set<string>;
  isSuspended: boolean;
}

/** A token that the host gave out. */
export interface HostToken {
  readonly login?: string;
  readonly installationId?: number;
  readonly repositoryIds?: readonly number[];
  readonly permissions?: Readonly<Record<string, string>>;
  readonly expiresAt: number;
}

/** What the host holds; tests may change it. */
export interface HostState {
  readonly root: string;
  readonly publicKey: KeyObject;
  readonly settings: TestGitHostSettings;
  readonly users: Map<string, HostUser>;
  readonly installations: Map<number, HostedInstallation>;
  readonly repositories: HostedRepository[];
  readonly tokens: Map<string, HostToken>;
  /** Codes of sign-in, until they are exchanged. */
  readonly codes: Map<string, { readonly login: string; readonly challenge: string | null; readonly redirect: string }>;
  /** Requests of the REST API, as `GET /app`. */
  readonly requests: string[];
  /** Permissions and events that the application asks for. */
  app: { permissions: Record<string, string>; events: string[] };
  /** Who is signed in in the browser that comes to be asked. */
  signedIn: string | null;
  /** Statuses with which the next requests of the REST API fail; an entry may be a whole answer. */
  readonly failures: (number | { readonly status: number; readonly headers: Record<string, string> })[];
  /** Where deliveries go when somebody pushes; null: nowhere. */
  webhookUrl: string | null;
  /** Deliveries that were sent, and the status that came back. */
  readonly deliveries: { readonly event: string; readonly status: number }[];
}

export interface TestGitHostSettings {
  readonly appId: string;
  /** PEM. */
  readonly privateKey: string;
  readonly webhookSecret: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A Git host. */
export interface TestGitHost extends TestGitHostSettings {
  /** `GITHOST_URL`. */
  readonly url: string;
  /** `GITHOST_API_URL`. */
  readonly apiUrl: string;
  readonly state: HostState;
  /** Variables under which the platform knows it. */
  readonly variables: Readonly<Record<string, string>>;
  user(login: string): HostUser;
  /** A token of a user, as sign-in gives one. */
  userToken(login: string): string;
  installation(account: string, users: readonly string[], permissions?: Record<string, string>): HostedInstallation;
  repository(fullName: string, installation: HostedInstallation): HostedRepository;
  commit(repository: HostedRepository, commit: TestCommit): string;
  /** Commit of a branch; null without one. */
  tip(repository: HostedRepository, branch: string): string | null;
  close(): Promise<void>;
}

/** All rights of which the platform makes use. */
export const allPermissions: Readonly<Record<string, string>> = {
  contents: 'read',
  metadata: 'read',
  statuses: 'write',
  pull_requests: 'write',
};

/** Starts one. */
export async function startGitHost(): Promise<TestGitHost> {
  // Where containers reach this machine: they know 127.0.0.1 as themselves.
  const address = process.env['TEST_GIT_HOST_ADDRESS'] ?? '127.0.0.1';
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const settings: TestGitHostSettings = {
    appId: '4711',
    privateKey: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    webhookSecret: randomBytes(32).toString('hex'),
    clientId: 'Iv1.0123456789abcdef',
    clientSecret: randomBytes(20).toString('hex'),
  };
  const root = mkdtempSync(path.join(tmpdir(), 'platform-git-host-'));
  const state: HostState = {
    root,
    publicKey,
    settings,
    users: new Map(),
    installations: new Map(),
    repositories: [],
    tokens: new Map(),
    codes: new Map(),
    requests: [],
    app: { permissions: { ...allPermissions }, events: ['push', 'repository', 'pull_request', 'delete'] },
    signedIn: null,
    failures: [],
    webhookUrl: null,
    deliveries: [],
  };
  let lastId = 1000;
  const server: Server = createServer((request, response) => {
    answerRequest(state, request, response).catch((error: unknown) => {
      if (!response.headersSent) response.statusCode = 500;
      response.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const url = `http://${address}:${(server.address() as AddressInfo).port}`;
  const apiUrl = `${url}/api/v3`;

  function user(login: string): HostUser {
    const known = state.users.get(login);
    if (known !== undefined) return known;
    const made = { id: ++lastId, login, name: login, email: `${login}@example.com` };
    state.users.set(login, made);
    return made;
  }
  return {
    ...settings,
    url,
    apiUrl,
    state,
    variables: {
      GITHOST_URL: url,
      GITHOST_API_URL: apiUrl,
      GITHOST_APP_ID: settings.appId,
      GITHOST_APP_PRIVATE_KEY: settings.privateKey,
      GITHOST_WEBHOOK_SECRET: settings.webhookSecret,
      GITHOST_CLIENT_ID: settings.clientId,
      GITHOST_CLIENT_SECRET: settings.clientSecret,
    },
    user,
    userToken(login) {
      user(login);
      const token = `ghu_${randomBytes(18).toString('hex')}`;
      state.tokens.set(token, { login, expiresAt: Date.now() + 8 * 3_600_000 });
      return token;
    },
    installation(account, users, permissions = { ...allPermissions }) {
      users.forEach(user);
      const made = { id: ++lastId, account, permissions, users: new Set(users), isSuspended: false };
      state.installations.set(made.id, made);
      return made;
    },
    repository(fullName, installation) {
      const id = ++lastId;
      const folder = path.join(root, `${id}.git`);
      mkdirSync(root, { recursive: true });
      createBareRepository(folder);
      const made: HostedRepository = {
        id,
        fullName,
        folder,
        installationId: installation.id,
        defaultBranch: 'main',
        isPrivate: true,
        isArchived: false,
        pushers: new Set(installation.users),
        statuses: [],
        comments: [],
      };
      state.repositories.push(made);
      return made;
    },
    commit: (repository, commit) => commitTo(repository.folder, commit),
    tip: (repository, branch) => tipOf(repository.folder, branch),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}
