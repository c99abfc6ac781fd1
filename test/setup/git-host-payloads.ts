// What the test's Git host writes about its repositories: the bodies of webhooks and the answers of its REST API, with
// the fields of the real one that clients read.
import { createHmac, randomUUID } from 'node:crypto';
import type { HostedRepository, HostState, HostUser } from './git-host-state.ts';
import { runGit } from './git-repositories.ts';

const NONE = '0'.repeat(40);

/** A repository as every body has it. */
export function repositoryBody(repository: HostedRepository, login: string | null = null): Record<string, unknown> {
  const [owner, name] = repository.fullName.split('/');
  return {
    id: repository.id,
    name,
    full_name: repository.fullName,
    private: repository.isPrivate,
    archived: repository.isArchived,
    default_branch: repository.defaultBranch,
    owner: { login: owner },
    pushed_at: Math.floor(Date.now() / 1000),
    ...(login !== null && {
      permissions: { admin: false, push: repository.pushers.has(login), pull: true },
    }),
  };
}

/** A user as every body has it. */
export function userBody(user: HostUser): Record<string, unknown> {
  return { id: user.id, login: user.login, name: user.name, email: user.email, avatar_url: `/avatars/${user.id}` };
}

/** A commit as the REST API has it. */
export function commitBody(repository: HostedRepository, sha: string): Record<string, unknown> {
  const [message, author] = runGit(repository.folder, ['show', '-s', '--format=%B%x00%an', sha]).split('\0');
  return {
    sha,
    commit: { message: message!.trim(), author: { name: author!.trim() } },
    author: { login: 'ada' },
    parents: runGit(repository.folder, ['show', '-s', '--format=%P', sha])
      .split(' ')
      .filter((parent) => parent !== '')
      .map((parent) => ({ sha: parent })),
  };
}

/** The body of `push`, for a branch that moved. Null: it was made, or removed. */
export function pushBody(
  state: HostState,
  repository: HostedRepository,
  branch: string,
  before: string | null,
  after: string | null,
): Record<string, unknown> {
  const { folder } = repository;
  const list = (range: string): string[] =>
    runGit(folder, ['log', '--reverse', '--format=%H', '--max-count=2048', range])
      .split('\n')
      .filter((line) => line !== '');
  const commits =
    after === null || before === null ? [] : list(`${before}..${after}`).map((sha) => pushed(folder, sha));
  const isForced =
    before !== null && after !== null && runGit(folder, ['rev-list', '--max-count=1', before, `^${after}`]) !== '';
  return {
    ref: `refs/heads/${branch}`,
    before: before ?? NONE,
    after: after ?? NONE,
    created: before === null,
    deleted: after === null,
    forced: isForced,
    base_ref: null,
    commits,
    head_commit: after === null ? null : pushed(folder, after),
    repository: repositoryBody(repository),
    pusher: { name: 'ada', email: 'ada@example.com' },
    sender: { login: 'ada', id: 1 },
    installation: { id: repository.installationId },
    ...(state.signedIn === null ? {} : { sender: { login: state.signedIn, id: 1 } }),
  };
}

function pushed(folder: string, sha: string): Record<string, unknown> {
  const format = '--format=%B%x00%an%x00%ae%x00';
  const [message, author, email, list] = runGit(folder, ['show', format, '--name-status', '--no-renames', sha]).split(
    '\0',
  );
  const changes = list!
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t') as [string, string]);
  const of = (letter: string): string[] => changes.filter(([kind]) => kind === letter).map(([, file]) => file);
  return {
    id: sha,
    message: message!.trim(),
    timestamp: '2026-01-01T00:00:00Z',
    author: { name: author!.trim(), email: email!.trim(), username: 'ada' },
    added: of('A'),
    removed: of('D'),
    modified: of('M'),
  };
}

/** The body of `pull_request`. */
export function pullRequestBody(
  repository: HostedRepository,
  options: {
    readonly action: string;
    readonly number: number;
    readonly branch: string;
    readonly sha: string;
    readonly title?: string;
    readonly author?: string;
    /** Where its branch lies; default: the same repository. Null: the fork was removed. */
    readonly head?: { readonly id: number; readonly full_name: string } | null;
    readonly isMerged?: boolean;
  },
): Record<string, unknown> {
  const { action, number, branch, sha, head, isMerged = false } = options;
  const base = repositoryBody(repository);
  return {
    action,
    number,
    pull_request: {
      number,
      state: action === 'closed' ? 'closed' : 'open',
      merged: isMerged,
      title: options.title ?? 'A change',
      user: { login: options.author ?? 'ada' },
      head: { ref: branch, sha, repo: head === undefined ? base : head === null ? null : { ...head, fork: true } },
      base: { ref: repository.defaultBranch, repo: base },
    },
    repository: base,
    sender: { login: options.author ?? 'ada', id: 1 },
    installation: { id: repository.installationId },
  };
}

/** A delivery as the host sends it. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Signs what the host tells. */
export function signDelivery(secret: string, event: string, payload: unknown, id: string = randomUUID()): Delivery {
  const body = JSON.stringify(payload);
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/test',
      'x-github-event': event,
      'x-github-delivery': id,
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  };
}
