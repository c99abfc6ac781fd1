// A Git host for tests, on real sockets: its pages and clones at one URL, its REST API and the sign-in of its users
// below it. Repositories are real and served by `git http-backend`; a push sends the signed webhook. What it checks, it
// checks as the real one does: the application's token by the public key, installation tokens by repository and right.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { answerRequest } from './git-host-requests.ts';
import type {
  HostUser,
  HostedRepository,
  HostedInstallation,
  HostState,
  TestGitHostSettings,
} from './git-host-state.ts';
import { commitTo, createBareRepository, tipOf, type TestCommit } from './git-repositories.ts';

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
const allPermissions: Readonly<Record<string, string>> = {
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
    manifests: new Map(),
    created: {},
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
