// How the test's Git host answers: sign-in of its users, its REST API, and git itself.
import { createHash, randomBytes, verify } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import type { HostedInstallation, HostedRepository, HostState, HostToken } from './git-host-state.ts';
import { createFromManifest, exchangeManifest, isManifestPage } from './git-host-manifest.ts';
import { commitBody, pushBody, repositoryBody, signDelivery, userBody } from './git-host-payloads.ts';
import { answerGit, headsOf, runGit, tipOf } from './git-repositories.ts';

const API = '/api/v3';
const INSTALLATION_TOKEN_MS = 3_600_000;

/** An answer that ends a request early. */
class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Answers one request to the host. */
export async function answerRequest(
  state: HostState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url!, 'http://localhost');
  if (/^\/[^/]+\/[^/]+\.git\/|^\/[^/]+\/[^/]+\/(?:info\/refs|git-(?:upload|receive)-pack)$/.test(url.pathname))
    return answerClone(state, url, request, response);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  try {
    if (url.pathname === '/login/oauth/authorize') return authorize(state, url, response);
    if (request.method === 'POST' && isManifestPage(url.pathname)) {
      response.writeHead(302, { location: createFromManifest(state, url, body) }).end();
      return;
    }
    const isApi = url.pathname.startsWith(`${API}/`);
    if (isApi) {
      state.requests.push(`${request.method} ${url.pathname.slice(API.length)}`);
      const failure = state.failures.shift();
      if (typeof failure === 'number') throw new Refused(failure, 'Told to fail');
      if (failure !== undefined) {
        response.writeHead(failure.status, failure.headers).end('{"message":"Told to fail"}');
        return;
      }
    }
    const [status, answer] = isApi
      ? answerApi(state, url, request, body === '' ? {} : (JSON.parse(body) as Record<string, unknown>))
      : url.pathname === '/login/oauth/access_token'
        ? exchange(state, body)
        : [404, { message: 'Not Found' }];
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(answer === null ? '' : JSON.stringify(answer));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    response.writeHead(error.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ message: error.message }));
  }
}

// Sign-in of users.

function authorize(state: HostState, url: URL, response: ServerResponse): void {
  const of = (name: string): string | null => url.searchParams.get(name);
  if (of('client_id') !== state.settings.clientId) throw new Refused(404, 'No such application');
  if (state.signedIn === null) throw new Refused(401, 'Nobody is signed in at the Git host');
  const redirect = of('redirect_uri') ?? '';
  const code = randomBytes(10).toString('hex');
  state.codes.set(code, { login: state.signedIn, challenge: of('code_challenge'), redirect });
  const target = new URL(redirect);
  target.searchParams.set('code', code);
  if (of('state') !== null) target.searchParams.set('state', of('state')!);
  response.writeHead(302, { location: target.href }).end();
}

function exchange(state: HostState, body: string): [number, unknown] {
  const given: Record<string, unknown> = body.startsWith('{')
    ? (JSON.parse(body) as Record<string, unknown>)
    : Object.fromEntries(new URLSearchParams(body));
  const { clientId, clientSecret } = state.settings;
  if (given['client_id'] !== clientId || given['client_secret'] !== clientSecret)
    return [200, { error: 'incorrect_client_credentials' }];
  const known = state.codes.get(String(given['code']));
  state.codes.delete(String(given['code']));
  if (known === undefined) return [200, { error: 'bad_verification_code' }];
  if (given['redirect_uri'] !== undefined && given['redirect_uri'] !== known.redirect)
    return [200, { error: 'redirect_uri_mismatch' }];
  const challenge = createHash('sha256').update(String(given['code_verifier'])).digest('base64url');
  if (known.challenge !== null && known.challenge !== challenge) return [200, { error: 'bad_verification_code' }];
  const token = `ghu_${randomBytes(18).toString('hex')}`;
  state.tokens.set(token, { login: known.login, expiresAt: Date.now() + 8 * 3_600_000 });
  return [200, { access_token: token, token_type: 'bearer', scope: '' }];
}

// The REST API.

type Body = Readonly<Record<string, unknown>>;

function answerApi(state: HostState, url: URL, request: IncomingMessage, body: Body): [number, unknown] {
  const place = `${request.method} ${url.pathname.slice(API.length)}`;
  const bearer = /^(?:Bearer|token) (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const match = (pattern: RegExp): string[] | null => pattern.exec(place)?.slice(1).map(decodeURIComponent) ?? null;

  const exchanged = exchangeManifest(state, place);
  if (exchanged !== null) return exchanged;
  let found: string[] | null;
  if (place === 'GET /app') {
    checkApp(state, bearer);
    return [200, { id: Number(state.settings.appId), slug: 'platform-test', name: 'Platform', ...state.app }];
  }
  if ((found = match(/^GET \/app\/installations\/(\d+)$/)) !== null) {
    checkApp(state, bearer);
    return [200, installationBody(installationOf(state, found[0]!))];
  }
  if ((found = match(/^POST \/app\/installations\/(\d+)\/access_tokens$/)) !== null) {
    checkApp(state, bearer);
    return giveToken(state, installationOf(state, found[0]!), body);
  }
  if (place.startsWith('GET /user')) return answerUser(state, place, url, tokenOf(state, bearer));
  if ((found = match(/^\w+ \/repos\/([^/]+)\/([^/]+)(?:\/|$)/)) !== null) {
    const fullName = found.join('/');
    const repository = state.repositories.find((each) => each.fullName === fullName);
    const token = tokenOf(state, bearer);
    if (repository === undefined || !reaches(state, token, repository)) throw new Refused(404, 'Not Found');
    return answerRepository(repository, place.replace(/^(\w+) \/repos\/[^/]+\/[^/]+/, '$1 '), body, token);
  }
  return [404, { message: 'Not Found' }];
}

function checkApp(state: HostState, jwt: string): void {
  const [head, claims, signature] = jwt.split('.');
  if (head === undefined || claims === undefined || signature === undefined) throw new Refused(401, 'No token');
  const read = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  if (read(head)['alg'] !== 'RS256') throw new Refused(401, 'The algorithm must be RS256');
  const signed = Buffer.from(`${head}.${claims}`);
  if (!verify('RSA-SHA256', signed, state.publicKey, Buffer.from(signature, 'base64url')))
    throw new Refused(401, 'A JSON web token could not be decoded');
  const { iss, iat, exp } = read(claims) as { iss: unknown; iat: number; exp: number };
  const now = Date.now() / 1000;
  if (String(iss) !== state.settings.appId) throw new Refused(401, 'Integration not found');
  if (iat > now || exp < now || exp - now > 600) throw new Refused(401, 'The expiration time is too far in the future');
}

function installationOf(state: HostState, id: string): HostedInstallation {
  const installation = state.installations.get(Number(id));
  if (installation === undefined) throw new Refused(404, 'Not Found');
  return installation;
}

function installationBody(installation: HostedInstallation): Body {
  return {
    id: installation.id,
    account: { login: installation.account },
    permissions: installation.permissions,
    suspended_at: installation.isSuspended ? '2026-01-01T00:00:00Z' : null,
  };
}

function giveToken(state: HostState, installation: HostedInstallation, body: Body): [number, unknown] {
  if (installation.isSuspended) throw new Refused(403, 'This installation has been suspended');
  const permissions = (body['permissions'] ?? installation.permissions) as Record<string, string>;
  for (const [name, right] of Object.entries(permissions)) {
    const granted = installation.permissions[name];
    if (granted !== right && granted !== 'write')
      throw new Refused(422, 'The permissions requested are not granted to this installation.');
  }
  const reachable = state.repositories.filter(({ installationId }) => installationId === installation.id);
  const names = (body['repositories'] ?? null) as string[] | null;
  const ids = names === null ? body['repository_ids'] : idsByName(reachable, names);
  const wanted = (ids ?? reachable.map(({ id }) => id)) as number[];
  if (!wanted.every((id) => reachable.some((repository) => repository.id === id)))
    throw new Refused(422, 'There is at least one repository that does not exist or is not accessible');
  const token = `ghs_${randomBytes(18).toString('hex')}`;
  const expiresAt = Date.now() + INSTALLATION_TOKEN_MS;
  state.tokens.set(token, { installationId: installation.id, repositoryIds: wanted, permissions, expiresAt });
  return [201, { token, expires_at: new Date(expiresAt).toISOString(), permissions }];
}

function idsByName(reachable: readonly HostedRepository[], names: readonly string[]): number[] {
  return names.map((name) => reachable.find(({ fullName }) => fullName.endsWith(`/${name}`))?.id ?? -1);
}

function tokenOf(state: HostState, bearer: string): HostToken {
  const token = state.tokens.get(bearer);
  if (token === undefined || token.expiresAt < Date.now()) throw new Refused(401, 'Bad credentials');
  return token;
}

function reaches(state: HostState, token: HostToken, repository: HostedRepository): boolean {
  if (token.login !== undefined)
    return !repository.isPrivate || state.installations.get(repository.installationId)?.users.has(token.login) === true;
  return token.repositoryIds?.includes(repository.id) === true;
}

function answerUser(state: HostState, place: string, url: URL, token: HostToken): [number, unknown] {
  const user = state.users.get(token.login ?? '');
  if (user === undefined) throw new Refused(403, 'Resource not accessible by integration');
  if (place === 'GET /user') return [200, userBody(user)];
  if (place === 'GET /user/emails') return [200, [{ email: user.email, primary: true, verified: true }]];
  const mine = [...state.installations.values()].filter(({ users }) => users.has(user.login));
  if (place === 'GET /user/installations') {
    const installations = page(url, mine.map(installationBody));
    return [200, { total_count: mine.length, installations }];
  }
  const [, id] = /^GET \/user\/installations\/(\d+)\/repositories$/.exec(place) ?? [];
  const installation = mine.find((each) => each.id === Number(id));
  if (installation === undefined) throw new Refused(404, 'Not Found');
  const all = state.repositories.filter(({ installationId }) => installationId === installation.id);
  return [
    200,
    {
      total_count: all.length,
      repositories: page(
        url,
        all.map((each) => repositoryBody(each, user.login)),
      ),
    },
  ];
}

function page<T>(url: URL, rows: readonly T[]): readonly T[] {
  const size = Number(url.searchParams.get('per_page') ?? 30);
  const from = (Number(url.searchParams.get('page') ?? 1) - 1) * size;
  return rows.slice(from, from + size);
}

function needsRight(token: HostToken, name: string, right: 'read' | 'write'): void {
  const granted = token.permissions?.[name];
  if (granted !== right && granted !== 'write') throw new Refused(403, 'Resource not accessible by integration');
}

function answerRepository(
  repository: HostedRepository,
  place: string,
  body: Body,
  token: HostToken,
): [number, unknown] {
  const match = (pattern: RegExp): string[] | null => pattern.exec(place)?.slice(1).map(decodeURIComponent) ?? null;
  let found: string[] | null;
  if (place === 'GET ') return [200, repositoryBody(repository, token.login ?? null)];
  if ((found = match(/^GET \/branches\/(.+)$/)) !== null) {
    needsRight(token, 'contents', 'read');
    const sha = tipOf(repository.folder, found[0]!);
    if (sha === null) throw new Refused(404, 'Branch not found');
    return [200, { name: found[0], commit: commitBody(repository, sha) }];
  }
  if ((found = match(/^GET \/commits\/([^/]+)$/)) !== null) {
    needsRight(token, 'contents', 'read');
    return [200, commitBody(repository, runGit(repository.folder, ['rev-parse', found[0]!]))];
  }
  if ((found = match(/^POST \/statuses\/([0-9a-f]{40})$/)) !== null) {
    needsRight(token, 'statuses', 'write');
    if (String(body['description'] ?? '').length > 140) throw new Refused(422, 'description is too long');
    repository.statuses.push({ ...body, sha: found[0]!, state: String(body['state']) });
    return [201, { id: repository.statuses.length, ...body }];
  }
  if ((found = match(/^(\w+) \/issues\/(\d+)\/comments$/)) !== null) {
    needsRight(token, 'pull_requests', 'write');
    const number = Number(found[1]);
    if (found[0] === 'GET') return [200, repository.comments.filter((comment) => comment.number === number)];
    const comment = {
      user: { type: 'Bot' },
      id: 90_000 + repository.comments.length,
      number,
      body: String(body['body']),
    };
    repository.comments.push(comment);
    return [201, comment];
  }
  if ((found = match(/^PATCH \/issues\/comments\/(\d+)$/)) !== null) {
    needsRight(token, 'pull_requests', 'write');
    const comment = repository.comments.find(({ id }) => id === Number(found![0]));
    if (comment === undefined) throw new Refused(404, 'Not Found');
    comment.body = String(body['body']);
    return [200, comment];
  }
  return [404, { message: 'Not Found' }];
}

// Git itself.

async function answerClone(
  state: HostState,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, fullName, rest] = /^\/([^/]+\/[^/]+?)(?:\.git)?(\/.*)$/.exec(url.pathname)!;
  const repository = state.repositories.find((each) => each.fullName === fullName);
  const isPush = `${url.pathname}${url.search}`.includes('git-receive-pack');
  const [, encoded] = /^Basic (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
  const words = encoded === undefined ? [] : Buffer.from(encoded, 'base64').toString().split(':');
  const token = state.tokens.get(words[1] ?? '');
  const isPublic = repository !== undefined && !repository.isPrivate && !isPush && encoded === undefined;
  const isKnown = token !== undefined && token.expiresAt > Date.now();
  if (!isPublic && !isKnown) {
    request.resume();
    response.writeHead(401, { 'www-authenticate': 'Basic realm="Git host"' }).end('Bad credentials\n');
    return;
  }
  if (repository === undefined || (!isPublic && !reaches(state, token!, repository))) {
    request.resume();
    response.writeHead(404).end('Repository not found\n');
    return;
  }
  const mayPush = token?.login !== undefined && repository.pushers.has(token.login);
  if (isPush ? !mayPush : !isPublic && token!.login === undefined && token!.permissions?.['contents'] === undefined) {
    request.resume();
    response.writeHead(403).end('Permission denied\n');
    return;
  }
  const before = isPush ? headsOf(repository.folder) : {};
  await answerGit(state.root, `/${path.basename(repository.folder)}${rest}`, request, response);
  if (isPush && request.method === 'POST') await tellPush(state, repository, before);
}

/** Sends what a push tells, one delivery a branch. */
async function tellPush(state: HostState, repository: HostedRepository, before: Record<string, string>): Promise<void> {
  const { webhookUrl } = state;
  if (webhookUrl === null) return;
  const after = headsOf(repository.folder);
  for (const branch of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (before[branch] === after[branch]) continue;
    const body = pushBody(state, repository, branch, before[branch] ?? null, after[branch] ?? null);
    const told: [string, unknown][] = [['push', body]];
    if (after[branch] === undefined)
      told.push(['delete', { ...body, ref: branch, ref_type: 'branch', pusher_type: 'user' }]);
    for (const [event, payload] of told) {
      const delivery = signDelivery(state.settings.webhookSecret, event, payload);
      const status = await fetch(webhookUrl, { method: 'POST', ...delivery }).then(
        (answer) => answer.status,
        () => 0,
      );
      state.deliveries.push({ event, status });
    }
  }
}
