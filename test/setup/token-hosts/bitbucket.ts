// Bitbucket Cloud as tests need it: the routes of its REST API that the platform calls, and its webhooks. Written from
// the public description of the API.
import { createHmac } from 'node:crypto';
import { oauthDialects } from './oauth.ts';
import { runGit, tipOf } from '../git-repositories.ts';
import {
  Refused,
  type ApiRequest,
  type Dialect,
  type HostedWebhook,
  type TokenHostState,
  type TokenRepository,
} from './state.ts';

const PULL_REQUEST = 'pullrequest:created';

export const bitbucketDialect: Dialect = {
  api: '/2.0',
  path: '/acme',
  oauth: oauthDialects.bitbucket,
  scopes: ['repository', 'pullrequest', 'webhook'],
  hostId: uuidOf,
  tokenIn: (authorization) => /^Bearer (.+)$/i.exec(authorization)?.[1] ?? null,
  answer: answerApi,
  events: { push: 'repo:push', pullRequest: PULL_REQUEST, deletion: 'repo:push' },
  pushed(repository, branch, before, after) {
    const end = (hash: string | null): object | null => {
      if (hash === null) return null;
      const message = hash === after ? runGit(repository.folder, ['show', '-s', '--format=%B', hash]).trim() : '';
      return { type: 'branch', name: branch, target: { type: 'commit', hash, message: `${message}\n` } };
    };
    const change = { old: end(before), new: end(after), created: before === null, closed: after === null };
    return {
      event: 'repo:push',
      body: {
        actor: { nickname: 'ada', display_name: 'Ada' },
        repository: repositoryBody(repository),
        push: { changes: [change] },
        // Dates of its objects make a body unlike others.
        date: new Date().toISOString(),
      },
    };
  },
  pullRequest(repository, { action, number, branch, sha, title, isFork }) {
    const words = { opened: 'created', updated: 'updated', closed: 'fulfilled' };
    const fork = { uuid: '{ffffffff-0000-4000-8000-000000000001}', full_name: 'mallory/fork' };
    return {
      event: `pullrequest:${words[action]}`,
      body: {
        repository: repositoryBody(repository),
        pullrequest: {
          id: number,
          title,
          author: { nickname: isFork === true ? 'mallory' : 'ada' },
          source: {
            branch: { name: branch },
            commit: { hash: sha.slice(0, 12) },
            repository: isFork === true ? fork : repositoryBody(repository),
          },
        },
      },
    };
  },
  headers: (hook, event, body, id) => ({
    'x-event-key': event,
    'x-request-uuid': id,
    'x-hub-signature': `sha256=${createHmac('sha256', hook.secret).update(body).digest('hex')}`,
  }),
  error: (_status, message) => ({ type: 'error', error: { message } }),
};

function uuidOf({ id }: TokenRepository): string {
  return `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`;
}

function repositoryBody(repository: TokenRepository): Record<string, unknown> {
  return {
    type: 'repository',
    uuid: `{${uuidOf(repository)}}`,
    full_name: repository.fullName,
    is_private: true,
    mainbranch: { type: 'branch', name: repository.defaultBranch },
  };
}

function answerApi(state: TokenHostState, { place, query, body, token }: ApiRequest): [number, unknown] {
  const need = (scope: string): void => {
    if (!token.scopes.includes(scope))
      throw new Refused(403, 'Your credentials lack one or more required privilege scopes.');
  };
  need(place.includes('/hooks') ? 'webhook' : place.includes('/comments') ? 'pullrequest' : 'repository');
  const [, method, workspace, uuid, rest = ''] =
    /^(\w+) \/repositories\/([^/]+)(?:\/([^/]+)(\/.*)?)?$/.exec(place) ?? [];
  const mine = state.repositories.filter(
    ({ fullName, admins, writers }) =>
      fullName.startsWith(`${workspace}/`) && (admins.has(token.login) || writers.has(token.login)),
  );
  if (uuid === undefined) {
    const word = /^full_name ~ "(.*)"$/.exec(query.get('q') ?? '')?.[1] ?? '';
    const size = Number(query.get('pagelen'));
    const from = (Number(query.get('page') ?? 1) - 1) * size;
    const found = mine.filter(({ fullName }) => fullName.includes(word));
    const next = found.length > from + size ? { next: 'https://api.bitbucket.example/2.0/next' } : {};
    return [200, { values: found.slice(from, from + size).map(repositoryBody), ...next }];
  }
  const repository = mine.find((each) => `{${uuidOf(each)}}` === decodeURIComponent(uuid));
  if (repository === undefined) throw new Refused(404, 'Repository not found');
  return answerRepository(state, repository, `${method} ${rest}`, body, token.login);
}

function hookBody({ id, url, isActive, events }: HostedWebhook): object {
  return { uuid: `{hook-${id}}`, url, active: isActive, events, secret_set: true };
}

function answerRepository(
  state: TokenHostState,
  repository: TokenRepository,
  place: string,
  body: Record<string, unknown>,
  login: string,
): [number, unknown] {
  const match = (pattern: RegExp): string[] | null => pattern.exec(place)?.slice(1).map(decodeURIComponent) ?? null;
  let found: string[] | null;
  if (place === 'GET ') return [200, repositoryBody(repository)];
  if ((found = match(/^GET \/refs\/branches\/([^/]+)$/)) !== null) {
    const hash = tipOf(repository.folder, found[0]!);
    if (hash === null) throw new Refused(404, 'No such branch');
    return [200, { name: found[0], target: { hash } }];
  }
  if (place.includes('/hooks') && !repository.admins.has(login)) throw new Refused(403, 'Access denied');
  if (place === 'GET /hooks') return [200, { values: repository.hooks.map(hookBody) }];
  const written = {
    url: String(body['url']),
    secret: String(body['secret']),
    isActive: body['active'] === true,
    events: (body['events'] ?? []) as string[],
  };
  if (place === 'POST /hooks') {
    const hook = { id: ++state.lastId, ...written };
    repository.hooks.push(hook);
    return [201, hookBody(hook)];
  }
  if ((found = match(/^(PUT|DELETE) \/hooks\/\{?(?:%7B)?hook-(\d+)/)) !== null) {
    const at = repository.hooks.findIndex(({ id }) => id === Number(found![1]));
    if (at < 0) throw new Refused(404, 'No such hook');
    if (found[0] === 'DELETE') repository.hooks.splice(at, 1);
    else Object.assign(repository.hooks[at]!, written);
    return found[0] === 'DELETE' ? [204, null] : [200, hookBody(repository.hooks[at]!)];
  }
  if ((found = match(/^POST \/commit\/([0-9a-f]{40})\/statuses\/build$/)) !== null) {
    if (String(body['key']).length > 40) throw new Refused(400, 'key: too long');
    repository.statuses.push({ ...body, sha: found[0]!, state: String(body['state']) });
    return [201, { key: body['key'] }];
  }
  const { raw = '' } = (body['content'] ?? {}) as { raw?: string };
  const shown = (comment: TokenRepository['comments'][number]): object => ({
    id: comment.id,
    content: { raw: comment.body },
    user: { nickname: comment.login },
  });
  if ((found = match(/^(GET|POST) \/pullrequests\/(\d+)\/comments$/)) !== null) {
    const number = Number(found[1]);
    if (found[0] === 'GET')
      return [200, { values: repository.comments.filter((each) => each.number === number).map(shown) }];
    const comment = { id: ++state.lastId, number, login, body: raw };
    repository.comments.push(comment);
    return [201, shown(comment)];
  }
  if ((found = match(/^PUT \/pullrequests\/\d+\/comments\/(\d+)$/)) !== null) {
    const comment = repository.comments.find(({ id }) => id === Number(found![0]));
    if (comment === undefined) throw new Refused(404, 'No such comment');
    comment.body = raw;
    return [200, shown(comment)];
  }
  throw new Refused(404, 'Not found');
}
