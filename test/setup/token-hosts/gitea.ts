// Gitea and Forgejo as tests need them: the routes of their REST API that the platform calls, and their webhooks.
// Written from the public description of the API.
import { createHmac } from 'node:crypto';
import { oauthDialects } from './oauth.ts';
import { runGit, tipOf } from '../git-repositories.ts';
import { Refused, type ApiRequest, type Dialect, type TokenHostState, type TokenRepository } from './state.ts';

const NONE = '0'.repeat(40);

export const giteaDialect: Dialect = {
  api: '/api/v1',
  oauth: oauthDialects.gitea,
  scopes: ['read:user', 'write:repository', 'write:issue'],
  path: '',
  hostId: ({ id }) => String(id),
  tokenIn: (authorization) => /^token (.+)$/i.exec(authorization)?.[1] ?? null,
  answer: answerApi,
  events: { push: 'push', pullRequest: 'pull_request', deletion: 'delete' },
  pushed(repository, branch, before, after) {
    if (after === null)
      return {
        event: 'delete',
        body: { ref: branch, ref_type: 'branch', pusher_type: 'user', repository: repositoryBody(repository) },
      };
    const [message, author] = runGit(repository.folder, ['show', '-s', '--format=%B%x00%an', after]).split('\0');
    const commit = {
      id: after,
      message: `${message!.trim()}\n`,
      author: { name: author!.trim(), email: 'ada@example.com', username: 'ada' },
      added: [],
      removed: [],
      modified: [],
    };
    return {
      event: 'push',
      body: {
        ref: `refs/heads/${branch}`,
        before: before ?? NONE,
        after,
        commits: [commit],
        total_commits: 1,
        head_commit: commit,
        repository: repositoryBody(repository),
        pusher: { login: 'ada' },
        sender: { login: 'ada' },
      },
    };
  },
  pullRequest(repository, { action, number, branch, sha, title, isFork }) {
    const base = repositoryBody(repository);
    const repo = isFork === true ? { ...base, id: repository.id + 5000, full_name: 'mallory/fork', fork: true } : base;
    return {
      event: action === 'updated' ? 'pull_request_sync' : 'pull_request',
      body: {
        action: action === 'updated' ? 'synchronized' : action,
        number,
        pull_request: {
          number,
          title,
          state: action === 'closed' ? 'closed' : 'open',
          user: { login: isFork === true ? 'mallory' : 'ada' },
          head: { ref: branch, sha, repo },
          base: { ref: repository.defaultBranch, repo: base },
        },
        repository: base,
        sender: { login: 'ada' },
      },
    };
  },
  headers: (hook, event, body, id) => ({
    'x-gitea-event': event.replace(/_sync$/, ''),
    'x-gitea-event-type': event,
    'x-gitea-delivery': id,
    'x-gitea-signature': createHmac('sha256', hook.secret).update(body).digest('hex'),
  }),
  error: (_status, message) => ({ message, url: 'https://gitea.example/api/swagger' }),
};

function repositoryBody(repository: TokenRepository, login: string | null = null): Record<string, unknown> {
  const [owner, name] = repository.fullName.split('/');
  return {
    id: repository.id,
    name,
    full_name: repository.fullName,
    owner: { login: owner },
    private: true,
    archived: repository.isArchived,
    default_branch: repository.defaultBranch,
    updated_at: new Date().toISOString(),
    ...(login !== null && { permissions: { admin: repository.admins.has(login), push: true, pull: true } }),
  };
}

function needScope({ token }: ApiRequest, scope: string): void {
  const [right, area] = scope.split(':');
  const has = token.scopes.includes(scope) || (right === 'read' && token.scopes.includes(`write:${area}`));
  if (!has) throw new Refused(403, `token does not have at least one of required scope(s), required=[${scope}]`);
}

function answerApi(state: TokenHostState, request: ApiRequest): [number, unknown] {
  const { place, query, token } = request;
  const mine = state.repositories.filter(({ admins, writers }) => admins.has(token.login) || writers.has(token.login));
  if (place === 'GET /version') return [200, { version: '1.24.0' }];
  if (place === 'GET /user') {
    needScope(request, 'read:user');
    return [200, { id: state.logins.indexOf(token.login) + 1, login: token.login }];
  }
  needScope(
    request,
    place.includes('/issues/') ? 'write:issue' : `${place.startsWith('GET') ? 'read' : 'write'}:repository`,
  );
  if (place === 'GET /user/repos') return [200, mine.map((each) => repositoryBody(each, token.login))];
  if (place === 'GET /repos/search') {
    if (Number(query.get('uid')) !== state.logins.indexOf(token.login) + 1) throw new Refused(422, 'uid');
    const size = Math.min(50, Number(query.get('limit')));
    const from = (Number(query.get('page')) - 1) * size;
    const found = mine.filter(({ fullName }) => fullName.includes(query.get('q') ?? ''));
    return [200, { ok: true, data: found.slice(from, from + size).map((each) => repositoryBody(each, token.login)) }];
  }
  const [, id] = /^GET \/repositories\/(\d+)$/.exec(place) ?? [];
  if (id !== undefined) {
    const found = mine.find((each) => each.id === Number(id));
    if (found === undefined) throw new Refused(404, "The target couldn't be found.");
    return [200, repositoryBody(found, token.login)];
  }
  const [, method, fullName, rest] = /^(\w+) \/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(place) ?? [];
  const repository = mine.find((each) => each.fullName === fullName);
  if (repository === undefined) throw new Refused(404, "The target couldn't be found.");
  return answerRepository(state, repository, `${method} ${rest ?? ''}`, request);
}

function answerRepository(
  state: TokenHostState,
  repository: TokenRepository,
  place: string,
  { body, token }: ApiRequest,
): [number, unknown] {
  const match = (pattern: RegExp): string[] | null => pattern.exec(place)?.slice(1) ?? null;
  const hookBody = ({ id, url, isActive, events }: TokenRepository['hooks'][number]): object => ({
    id,
    type: 'gitea',
    active: isActive,
    events,
    config: { url, content_type: 'json' },
  });
  let found: string[] | null;
  if ((found = match(/^GET \/branches\/(.+)$/)) !== null) {
    const sha = tipOf(repository.folder, found[0]!);
    if (sha === null) throw new Refused(404, 'branch does not exist');
    return [200, { name: found[0], commit: { id: sha } }];
  }
  if (/\/hooks/.test(place) && !repository.admins.has(token.login))
    throw new Refused(403, 'user should be an owner or a collaborator with admin write of a repository');
  if (place === 'GET /hooks') return [200, repository.hooks.map(hookBody)];
  if (place === 'POST /hooks') {
    const config = body['config'] as { url: string; secret: string };
    const hook = {
      id: ++state.lastId,
      url: config.url,
      secret: config.secret,
      isActive: body['active'] === true,
      events: body['events'] as string[],
    };
    repository.hooks.push(hook);
    return [201, hookBody(hook)];
  }
  if ((found = match(/^(PATCH|DELETE) \/hooks\/(\d+)$/)) !== null) {
    const at = repository.hooks.findIndex(({ id }) => id === Number(found![1]));
    if (at < 0) throw new Refused(404, 'hook does not exist');
    if (found[0] === 'DELETE') {
      repository.hooks.splice(at, 1);
      return [204, null];
    }
    const hook = repository.hooks[at]!;
    const config = body['config'] as { url: string; secret: string };
    Object.assign(hook, { ...config, isActive: body['active'], events: body['events'] });
    return [200, hookBody(hook)];
  }
  if ((found = match(/^POST \/statuses\/([0-9a-f]{40})$/)) !== null) {
    repository.statuses.push({ ...body, sha: found[0]!, state: String(body['state']) });
    return [201, { id: repository.statuses.length }];
  }
  if ((found = match(/^(\w+) \/issues\/(\d+)\/comments$/)) !== null) {
    const number = Number(found[1]);
    const shown = ({ id, body: text, login }: TokenRepository['comments'][number]): object => ({
      id,
      body: text,
      user: { login },
    });
    if (found[0] === 'GET') return [200, repository.comments.filter((each) => each.number === number).map(shown)];
    const comment = { id: ++state.lastId, number, login: token.login, body: String(body['body']) };
    repository.comments.push(comment);
    return [201, shown(comment)];
  }
  if ((found = match(/^PATCH \/issues\/comments\/(\d+)$/)) !== null) {
    const comment = repository.comments.find(({ id }) => id === Number(found![0]));
    if (comment === undefined) throw new Refused(404, 'comment does not exist');
    if (comment.login !== token.login) throw new Refused(403, 'user should have permission to edit the comment');
    comment.body = String(body['body']);
    return [200, { id: comment.id }];
  }
  throw new Refused(404, 'Not Found');
}
