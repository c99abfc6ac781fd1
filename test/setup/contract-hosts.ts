// Git hosts of every kind in front of one control plane, as the contract suite drives them: the application of GitHub's
// kind, and hosts that are used with access tokens. Pushes are real ones, over HTTP.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TokenHostKindName } from '#git/host/token-hosts.ts';
import type { ConnectedHost } from './connected-host.ts';
import { signDelivery } from './git-host-payloads.ts';
import { commitTo, createBareRepository, tipOf } from './git-repositories.ts';
import { startTokenHost, type TestTokenHost } from './token-hosts/token-host.ts';
import type { Dialect, PullRequestOfTest, TokenRepository } from './token-hosts/state.ts';

/** How the platform learns of an event. */
type Learned = 'webhook' | 'check';

/** A delivery as somebody could send it again, or changed. */
export interface RawDelivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A repository and the project that is connected to it. */
export interface ContractRepository {
  readonly projectId: string;
  readonly repositoryId: string;
  /** A real push. @returns the commit */
  push(branch: string, files: Record<string, string>, message?: string): Promise<string>;
  deleteBranch(branch: string): Promise<void>;
  pullRequest(pullRequest: PullRequestOfTest): Promise<void>;
  rename(fullName: string): Promise<Learned>;
  archive(isArchived: boolean): Promise<Learned>;
  remove(): Promise<Learned>;
  /** What the host shows: commit and state of each status, in the host's words. */
  statuses(): readonly (readonly [string, string])[];
  comments(): readonly string[];
  /** The last delivery of the host, and the header with its signature. */
  lastDelivery(): { readonly delivery: RawDelivery; readonly signature: string; readonly id: string };
}

/** One host. */
export interface ContractHost {
  readonly title: string;
  /** Names of the repositories that can be connected. */
  search(word: string): Promise<readonly string[]>;
  connect(name: string): Promise<ContractRepository>;
  /** The next requests of the REST API fail with these statuses. */
  fail(statuses: readonly number[]): void;
  /** From now on, or until `false`, the credentials are refused. Null: they cannot expire while they are used. */
  readonly expire: ((isExpired: boolean) => void) | null;
  /** Words of its commit statuses. */
  readonly words: { readonly pending: string; readonly success: string };
  /** Whether pull requests of forks are supported. */
  readonly hasForks: boolean;
  /** Whether a repository that is moved to another owner is found there; otherwise it counts as deleted. */
  readonly isMoved: boolean;
  close(): Promise<void>;
}

const usualWords = { pending: 'pending', success: 'success' };

/** Runs git to its end, beside this process. */
async function git(args: readonly string[], cwd: string): Promise<void> {
  const env = { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', LC_ALL: 'C' };
  const child = spawn('git', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0, said);
}

interface Pushing {
  readonly folder: string;
  readonly url: () => string;
}

async function pushCommit(
  { folder, url }: Pushing,
  branch: string,
  files: Record<string, string>,
  message: string,
): Promise<string> {
  const local = path.join(folder, 'local.git');
  if (tipOf(local, 'main') === null) createBareRepository(local);
  const sha = commitTo(local, { branch, files, message });
  await git(['push', '-q', '--force', url(), `${branch}:${branch}`], local);
  return sha;
}

/** The host of `GITHOST_URL`, with its application. */
export function githubContract(connected: ConnectedHost): ContractHost {
  const { host, control } = connected;
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-contract-'));
  let last: RawDelivery | null = null;
  const deliver = async (event: string, payload: unknown): Promise<void> => {
    const delivery = signDelivery(host.webhookSecret, event, payload);
    last = { url: `${control.deps.addresses.api}/webhooks/git-host`, ...delivery };
    const { status } = await connected.send(delivery);
    assert.equal(status, 202);
    await connected.work();
  };
  return {
    title: 'GitHub',
    words: usualWords,
    hasForks: true,
    isMoved: true,
    expire: null,
    async search(word) {
      const query = new URLSearchParams({ organizationId: control.organizationId, search: word });
      const { body } = await control.call('GET', `/git-host/repositories?${query}`);
      return body.repositories.map(({ fullName }: { fullName: string }) => fullName);
    },
    fail: (statuses) => void host.state.failures.push(...statuses),
    async connect(name) {
      const { projectId, repositoryId, repository } = await connected.connect(name);
      const token = host.userToken('ada');
      const url = (): string => `${host.url.replace('://', `://x:${token}@`)}/${repository.fullName}.git`;
      const place = mkdtempSync(path.join(folder, 'r-'));
      const tell = (action: string): Promise<void> =>
        deliver('repository', connected.repositoryEvent(repository, action));
      return {
        projectId,
        repositoryId,
        async push(branch, files, message = 'Change') {
          const before = host.tip(repository, branch);
          const sha = await pushCommit({ folder: place, url }, branch, files, message);
          await deliver('push', connected.pushBody(repository, branch, before, sha));
          return sha;
        },
        async deleteBranch(branch) {
          const before = host.tip(repository, branch);
          await git(['push', '-q', url(), `:${branch}`], path.join(place, 'local.git'));
          await deliver('push', connected.pushBody(repository, branch, before, null));
        },
        async pullRequest({ action, isFork, ...more }) {
          const words = { opened: 'opened', updated: 'synchronize', closed: 'closed' };
          const head = isFork === true ? { head: { id: 5, full_name: 'mallory/fork' }, author: 'mallory' } : {};
          await deliver(
            'pull_request',
            connected.pullRequestBody(repository, { ...more, ...head, action: words[action] }),
          );
        },
        async rename(fullName) {
          repository.fullName = fullName;
          await tell('renamed');
          return 'webhook';
        },
        async archive(isArchived) {
          await tell(isArchived ? 'archived' : 'unarchived');
          return 'webhook';
        },
        async remove() {
          await tell('deleted');
          return 'webhook';
        },
        statuses: () => repository.statuses.map(({ sha, state }) => [sha, state] as const),
        comments: () => repository.comments.map(({ body }) => body),
        lastDelivery: () => ({ delivery: last!, signature: 'x-hub-signature-256', id: 'x-github-delivery' }),
      };
    },
    close: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
  };
}

/** A host that is used with tokens: the operator adds it, an owner connects an account on it. */
export interface TokenContractHost extends ContractHost {
  readonly host: TestTokenHost;
  readonly hostId: string;
  readonly accountId: string;
}

/** Starts a host, adds it to the platform and connects an account. */
export async function tokenContract(
  connected: ConnectedHost,
  kind: TokenHostKindName,
  title: string,
  dialect: Dialect,
): Promise<TokenContractHost> {
  const { control } = connected;
  const { organizationId } = control;
  const host = await startTokenHost(dialect);
  host.state.send = (url, init) => control.fetch(new Request(url, { method: 'POST', ...init }));
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-contract-'));
  await control.sql`UPDATE control.account SET is_admin = true WHERE id = ${control.owner.accountId}`;
  const added = await control.call('POST', '/git-hosts', { kind, name: title, url: `${host.url}${dialect.path}` });
  assert.equal(added.status, 201, JSON.stringify(added.body));
  const hostId: string = added.body.id;
  const token = host.token('ada');
  const account = await control.call('POST', `/git-hosts/${hostId}/accounts`, { organizationId, token });
  assert.equal(account.status, 201, JSON.stringify(account.body));
  const accountId: string = account.body.id;

  const search: ContractHost['search'] = async (word) => {
    const query = new URLSearchParams({ organizationId, accountId, search: word });
    const { body } = await control.call('GET', `/git-host/repositories?${query}`);
    return body.repositories.map(({ fullName }: { fullName: string }) => fullName);
  };

  return {
    title,
    host,
    hostId,
    accountId,
    words: kind === 'bitbucket' ? { pending: 'INPROGRESS', success: 'SUCCESSFUL' } : usualWords,
    hasForks: kind !== 'bitbucket',
    isMoved: kind !== 'bitbucket',
    search,
    fail: (statuses) => void host.state.failures.push(...statuses),
    expire(isExpired) {
      host.state.tokens.get(token)!.isExpired = isExpired;
    },
    async connect(name) {
      const repository = host.repository(`acme/${name}`, ['ada']);
      const { status, body } = await control.call('POST', '/repositories', {
        organizationId,
        source: 'git-host',
        installationId: accountId,
        hostId: dialect.hostId(repository),
      });
      assert.equal(status, 201, JSON.stringify(body));
      const repositoryId: string = body.repository.id;
      const project = await control.call('POST', '/projects', { name: `${name}-${kind}`, organizationId });
      const projectId: string = project.body.id;
      await control.call('POST', `/projects/${projectId}/repository`, { repositoryId });
      const url = (): string => `${host.url.replace('://', `://x:${token}@`)}/${repository.fullName}.git`;
      const place = mkdtempSync(path.join(folder, 'r-'));
      const check = async (): Promise<Learned> => {
        const answer = await control.call('POST', `/repositories/${repositoryId}/check`);
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        return 'check';
      };
      const finish = async (): Promise<void> => {
        await host.settled();
        await connected.work();
      };
      return {
        projectId,
        repositoryId,
        async push(branch, files, message = 'Change') {
          const sha = await pushCommit({ folder: place, url }, branch, files, message);
          await finish();
          return sha;
        },
        async deleteBranch(branch) {
          await git(['push', '-q', url(), `:${branch}`], path.join(place, 'local.git'));
          await finish();
        },
        async pullRequest(pullRequest) {
          await host.tellPullRequest(repository, pullRequest);
          await finish();
        },
        rename(fullName) {
          repository.fullName = fullName;
          return check();
        },
        archive(isArchived) {
          repository.isArchived = isArchived;
          return check();
        },
        remove() {
          host.state.repositories.splice(host.state.repositories.indexOf(repository), 1);
          return check();
        },
        statuses: () => repository.statuses.map(({ sha, state }) => [sha, state] as const),
        comments: () => repository.comments.map(({ body: text }) => text),
        lastDelivery: () => ({
          delivery: host.sent.at(-1)!,
          signature: signatureHeader(repository),
          id: idHeader(host.sent.at(-1)!.headers),
        }),
      };
    },
    async close() {
      await host.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };

  function signatureHeader(repository: TokenRepository): string {
    const names = Object.keys(dialect.headers(repository.hooks[0]!, 'push', '', 'id'));
    return names.find((name) => /signature|token/.test(name))!;
  }
}

/** The header that names a delivery. */
function idHeader(headers: Readonly<Record<string, string>>): string {
  return Object.keys(headers).find((name) => /delivery|idempotency|request-uuid/.test(name))!;
}
