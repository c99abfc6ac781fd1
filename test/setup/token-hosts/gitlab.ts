// GitLab as tests need it: the routes of its REST API that the platform calls, and its webhooks. Written from the
// public description of the API.
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

const NONE = '0'.repeat(40);
const PUSH = 'push_events';
const MERGE_REQUEST = 'merge_requests_events';

export const gitlabDialect: Dialect = {
  api: '/api/v4',
  oauth: oauthDialects.gitlab,
  scopes: ['api'],
  path: '',
  hostId: ({ id }) => String(id),
  tokenIn: (authorization) => /^Bearer (.+)$/i.exec(authorization)?.[1] ?? null,
  answer: answerApi,
  events: { push: PUSH, pullRequest: MERGE_REQUEST, deletion: PUSH },
  pushed(repository, branch, before, after) {
    const message = after === null ? '' : runGit(repository.folder, ['show', '-s', '--format=%B', after]).trim();
    const commits =
      after === null
        ? []
        : [{ id: after, message: `${message}\n`, author: { name: 'Ada' }, added: [], modified: [], removed: [] }];
    return {
      event: 'Push Hook',
      body: {
        object_kind: 'push',
        event_name: 'push',
        ref: `refs/heads/${branch}`,
        before: before ?? NONE,
        after: after ?? NONE,
        checkout_sha: after,
        user_username: 'ada',
        project_id: repository.id,
        project: { id: repository.id, path_with_namespace: repository.fullName },
        commits,
        total_commits_count: commits.length,
      },
    };
  },
  pullRequest(repository, { action, number, branch, sha, title, isFork }) {
    const actions = { opened: 'open', updated: 'update', closed: 'close' };
    return {
      event: 'Merge Request Hook',
      body: {
        object_kind: 'merge_request',
        user: { username: isFork === true ? 'mallory' : 'ada' },
        project: { id: repository.id, path_with_namespace: repository.fullName },
        object_attributes: {
          iid: number,
          action: actions[action],
          title,
          state: action === 'closed' ? 'closed' : 'opened',
          source_branch: branch,
          target_branch: repository.defaultBranch,
          source_project_id: isFork === true ? repository.id + 5000 : repository.id,
          target_project_id: repository.id,
          last_commit: { id: sha },
        },
      },
    };
  },
  headers: (hook, event, _body, id) => ({
    'x-gitlab-event': event,
    'x-gitlab-event-uuid': id,
    'idempotency-key': id,
    'x-gitlab-token': hook.secret,
  }),
  error: (status, message) => (status === 401 ? { error: 'invalid_token', error_description: message } : { message }),
};

function projectBody(repository: TokenRepository, login: string): Record<string, unknown> {
  return {
    id: repository.id,
    path_with_namespace: repository.fullName,
    default_branch: repository.defaultBranch,
    visibility: 'private',
    archived: repository.isArchived,
    permissions: {
      project_access: { access_level: repository.admins.has(login) ? 40 : 30 },
      group_access: null,
    },
  };
}

function answerApi(state: TokenHostState, { place, query, body, token }: ApiRequest): [number, unknown] {
  if (place === 'GET /version') throw new Refused(401, '401 Unauthorized');
  if (place === 'GET /personal_access_tokens/self')
    return [200, { scopes: token.scopes, expires_at: '2099-01-31', active: true, revoked: false }];
  if (!token.scopes.includes('api')) throw new Refused(403, 'The request requires higher privileges');
  if (place === 'GET /user') return [200, { id: state.logins.indexOf(token.login) + 1, username: token.login }];
  const mine = state.repositories.filter(({ admins, writers }) => admins.has(token.login) || writers.has(token.login));
  if (place === 'GET /projects') {
    const size = Number(query.get('per_page'));
    const from = (Number(query.get('page')) - 1) * size;
    const found = mine.filter(({ fullName }) => fullName.includes(query.get('search') ?? ''));
    return [200, found.slice(from, from + size).map((each) => projectBody(each, token.login))];
  }
  const [, method, id, rest] = /^(\w+) \/projects\/(\d+)(\/.*)?$/.exec(place) ?? [];
  const repository = mine.find((each) => each.id === Number(id));
  if (repository === undefined) throw new Refused(404, '404 Project Not Found');
  if (rest === undefined) return [200, projectBody(repository, token.login)];
  return answerProject(state, repository, `${method} ${rest}`, body, token.login);
}

function hookBody({ id, url, isActive, events }: HostedWebhook): object {
  return {
    id,
    url,
    [PUSH]: events.includes(PUSH),
    [MERGE_REQUEST]: events.includes(MERGE_REQUEST),
    alert_status: isActive ? 'executable' : 'disabled',
  };
}

function answerProject(
  state: TokenHostState,
  repository: TokenRepository,
  place: string,
  body: Record<string, unknown>,
  login: string,
): [number, unknown] {
  const match = (pattern: RegExp): string[] | null => pattern.exec(place)?.slice(1) ?? null;
  const wanted = (): string[] => [PUSH, MERGE_REQUEST].filter((name) => body[name] === true);
  let found: string[] | null;
  if ((found = match(/^GET \/repository\/branches\/([^/]+)$/)) !== null) {
    const name = decodeURIComponent(found[0]!);
    const sha = tipOf(repository.folder, name);
    if (sha === null) throw new Refused(404, '404 Branch Not Found');
    return [200, { name, commit: { id: sha } }];
  }
  if (/\/hooks/.test(place) && !repository.admins.has(login)) throw new Refused(403, '403 Forbidden');
  if (place === 'GET /hooks') return [200, repository.hooks.map(hookBody)];
  if (place === 'POST /hooks') {
    const hook = {
      id: ++state.lastId,
      url: String(body['url']),
      secret: String(body['token']),
      isActive: true,
      events: wanted(),
    };
    repository.hooks.push(hook);
    return [201, hookBody(hook)];
  }
  if ((found = match(/^(PUT|DELETE) \/hooks\/(\d+)$/)) !== null) {
    const at = repository.hooks.findIndex(({ id }) => id === Number(found![1]));
    if (at < 0) throw new Refused(404, '404 Not found');
    if (found[0] === 'DELETE') {
      repository.hooks.splice(at, 1);
      return [204, null];
    }
    const hook = repository.hooks[at]!;
    Object.assign(hook, { url: body['url'], secret: body['token'], events: wanted() });
    return [200, hookBody(hook)];
  }
  if ((found = match(/^POST \/statuses\/([0-9a-f]{40})$/)) !== null) {
    const [sha] = found as [string];
    const last = repository.statuses.findLast((each) => each.sha === sha && each['name'] === body['name']);
    if (last?.state === body['state'])
      throw new Refused(400, `Cannot transition status via :enqueue from :${last!.state}`);
    repository.statuses.push({ ...body, sha, state: String(body['state']) });
    return [201, { id: repository.statuses.length }];
  }
  if ((found = match(/^(\w+) \/merge_requests\/(\d+)\/notes$/)) !== null) {
    const number = Number(found[1]);
    const shown = ({ id, body: text, login: author }: TokenRepository['comments'][number]): object => ({
      id,
      body: text,
      author: { id: state.logins.indexOf(author) + 1, username: author },
    });
    if (found[0] === 'GET') return [200, repository.comments.filter((each) => each.number === number).map(shown)];
    const comment = { id: ++state.lastId, number, login, body: String(body['body']) };
    repository.comments.push(comment);
    return [201, shown(comment)];
  }
  if ((found = match(/^PUT \/merge_requests\/\d+\/notes\/(\d+)$/)) !== null) {
    const comment = repository.comments.find(({ id }) => id === Number(found![0]));
    if (comment === undefined) throw new Refused(404, '404 Not found');
    if (comment.login !== login) throw new Refused(403, '403 Forbidden');
    comment.body = String(body['body']);
    return [200, { id: comment.id }];
  }
  throw new Refused(404, '404 Not Found');
}
