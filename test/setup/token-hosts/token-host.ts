// A Git host that is used with access tokens, for tests, on real sockets: its REST API and clones at one URL.
// Repositories are real and served by `git http-backend`; a push sends the webhooks that were created by the API.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { answerGit, createBareRepository, headsOf } from '../git-repositories.ts';
import { answerOAuth, newOAuth } from './oauth.ts';
import {
  Refused,
  type Dialect,
  type EventOfHost,
  type PullRequestOfTest,
  type TokenHostState,
  type TokenRepository,
} from './state.ts';

/** A delivery as it was sent. */
interface SentDelivery {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** What the platform answered. */
  readonly status: number;
}

/** A Git host. */
export interface TestTokenHost {
  readonly url: string;
  readonly state: TokenHostState;
  readonly dialect: Dialect;
  /** All deliveries, the last one at the end. */
  readonly sent: SentDelivery[];
  token(login: string, scopes?: readonly string[]): string;
  repository(fullName: string, admins: readonly string[]): TokenRepository;
  /** Sends an event to the webhooks of a repository. Null: hosts of this kind do not send it. */
  tell(repository: TokenRepository, event: EventOfHost | null): Promise<void>;
  tellPullRequest(repository: TokenRepository, pullRequest: PullRequestOfTest): Promise<void>;
  /** Resolves once all webhooks of pushes are sent. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Starts one. */
export async function startTokenHost(dialect: Dialect): Promise<TestTokenHost> {
  const root = mkdtempSync(path.join(tmpdir(), 'platform-token-host-'));
  const state: TokenHostState = {
    root,
    repositories: [],
    tokens: new Map(),
    oauth: newOAuth(),
    logins: [],
    requests: [],
    failures: [],
    send: (url, init) => fetch(url, { method: 'POST', ...init }),
    lastId: 1000,
  };
  const sent: SentDelivery[] = [];
  const telling = new Set<Promise<void>>();

  async function tell(repository: TokenRepository, event: EventOfHost | null): Promise<void> {
    if (event === null) return;
    const { push, pullRequest, deletion } = dialect.events;
    const name = /pull|merge/i.test(event.event) ? pullRequest : /delete/.test(event.event) ? deletion : push;
    for (const hook of repository.hooks) {
      if (!hook.isActive || !hook.events.includes(name)) continue;
      const body = JSON.stringify(event.body);
      const headers = {
        'content-type': 'application/json',
        ...dialect.headers(hook, event.event, body, randomUUID()),
      };
      const { status } = await state.send(hook.url, { headers, body });
      sent.push({ url: hook.url, headers, body, status });
    }
  }

  async function answerClone(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, fullName, rest] = /^\/(.+?)\.git(\/.*)$/.exec(url.pathname) ?? [];
    if (fullName === undefined) {
      request.resume();
      response.writeHead(404).end('<h1>Not found</h1>');
      return;
    }
    const [, encoded = ''] = /^Basic (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const token = state.tokens.get(Buffer.from(encoded, 'base64').toString().split(':')[1] ?? '');
    const repository = state.repositories.find((each) => each.fullName === fullName);
    const status =
      token === undefined || token.isExpired
        ? 401
        : repository === undefined || !repository.admins.has(token.login)
          ? 404
          : 200;
    if (status !== 200) {
      request.resume();
      response.writeHead(status, { 'www-authenticate': 'Basic realm="Git host"' }).end('refused\n');
      return;
    }
    const isPush = request.method === 'POST' && url.pathname.endsWith('/git-receive-pack');
    const before = isPush ? headsOf(repository!.folder) : {};
    await answerGit(root, `/${path.basename(repository!.folder)}${rest}`, request, response);
    if (!isPush) return;
    const after = headsOf(repository!.folder);
    for (const branch of new Set([...Object.keys(before), ...Object.keys(after)]))
      if (before[branch] !== after[branch])
        await tell(repository!, dialect.pushed(repository!, branch, before[branch] ?? null, after[branch] ?? null));
  }

  async function answerApi(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const place = `${request.method} ${url.pathname.slice(dialect.api.length)}`;
    state.requests.push(place);
    const reply = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body === null ? '' : JSON.stringify(body));
    };
    try {
      const failure = state.failures.shift();
      if (failure !== undefined) throw new Refused(failure, 'Told to fail');
      const token = state.tokens.get(dialect.tokenIn(request.headers.authorization ?? '') ?? '');
      const isOpen = place === 'GET /version';
      if (!isOpen && (token === undefined || token.isExpired)) throw new Refused(401, 'Token is expired or unknown');
      const known = token ?? { login: '', scopes: [], isExpired: false };
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      reply(...dialect.answer(state, { place, query: url.searchParams, body, token: known }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      reply(error.status, dialect.error(error.status, error.message));
    }
  }

  async function answerApplication(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', headers } = request;
    const given = { method, url, authorization: headers.authorization ?? '', body: Buffer.concat(chunks).toString() };
    const failure = state.failures.shift();
    const answer = failure === undefined ? answerOAuth(state, dialect.oauth, dialect.scopes, given) : null;
    const more = answer?.location === undefined ? {} : { location: answer.location };
    response.writeHead(answer?.status ?? failure ?? 404, { 'content-type': 'application/json', ...more });
    response.end(JSON.stringify(answer?.body ?? {}));
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    const answered = url.pathname.startsWith(`${dialect.api}/`)
      ? answerApi(url, request, response)
      : [dialect.oauth.authorize, dialect.oauth.token, dialect.oauth.revoke].includes(url.pathname)
        ? answerApplication(url, request, response)
        : answerClone(url, request, response);
    const done: Promise<void> = answered
      .catch((error: unknown) => {
        if (!response.headersSent) response.statusCode = 500;
        response.end(String(error));
      })
      .finally(() => telling.delete(done));
    telling.add(done);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const loginOf = (login: string): void => {
    if (!state.logins.includes(login)) state.logins.push(login);
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    dialect,
    sent,
    token(login, scopes = dialect.scopes) {
      loginOf(login);
      const token = `tok-${randomBytes(12).toString('hex')}`;
      state.tokens.set(token, { login, scopes, isExpired: false });
      return token;
    },
    repository(fullName, admins) {
      admins.forEach(loginOf);
      const id = ++state.lastId;
      const folder = path.join(root, `${id}.git`);
      createBareRepository(folder);
      const made: TokenRepository = {
        id,
        fullName,
        folder,
        defaultBranch: 'main',
        isArchived: false,
        admins: new Set(admins),
        writers: new Set(),
        hooks: [],
        statuses: [],
        comments: [],
      };
      state.repositories.push(made);
      return made;
    },
    tell,
    tellPullRequest: (repository, pullRequest) => tell(repository, dialect.pullRequest(repository, pullRequest)),
    async settled() {
      await Promise.all(telling);
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(root, { recursive: true, force: true });
    },
  };
}
