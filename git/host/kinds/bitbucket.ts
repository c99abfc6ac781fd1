// The driver of Bitbucket Cloud: an access token of a workspace, and a webhook for each repository. A host is one
// workspace: its URL ends with the workspace, since tokens cannot list others.
import { createHash } from 'node:crypto';
import { isFailure } from '#core/failure.ts';
import {
  keepComment,
  orNull,
  type CommitStatus,
  type OpenedWith,
  type RepositoryRef,
  type TokenAccess,
  type TokenHostKind,
} from '../access.ts';
import { answerFields, answerList, answerText, type Answer } from '../answers.ts';
import type { HostRepository } from '../repositories.ts';
import { readBitbucketDeliveries } from './bitbucket-delivery.ts';

const PAGE_SIZE = 100;
const events = [
  'repo:push',
  'pullrequest:created',
  'pullrequest:updated',
  'pullrequest:fulfilled',
  'pullrequest:rejected',
];

export const bitbucket: TokenHostKind = {
  title: 'Bitbucket',
  publicUrl: null,
  urlAdvice: 'pass the URL of the workspace, such as https://bitbucket.org/acme',
  // The public service has its API on a separate host.
  apiUrlOf: (url) => `${new URL(url).origin.replace('https://bitbucket.org', 'https://api.bitbucket.org')}/2.0`,
  urlProblem: (url) => (/^\/[\w-]+$/.test(new URL(url).pathname) ? null : 'must end with the workspace'),
  absentAdvice: 'Bitbucket Data Center is not supported: connect its repositories by their URL',
  probe: (url) => `/repositories/${workspaceOf(url)}?pagelen=1`,
  repositoriesAt: (url) => new URL(url).origin,
  tokenAdvice: 'a workspace access token with the scopes repository, pullrequest and webhook',
  authorization: (token) => ({ authorization: `Bearer ${token}` }),
  open: openBitbucket,
  oauth: {
    baseUrl: (url) => new URL(url).origin,
    authorizePath: '/site/oauth2/authorize',
    tokenPath: '/site/oauth2/access_token',
    revokePath: null,
    // Scopes of the OAuth consumer.
    scopes: '',
    clientAuth: 'basic',
    advice:
      'in the settings of the workspace, under OAuth consumers: private, with the permissions Account: read, Repositories: read, Pull requests: read and Webhooks: read and write',
  },
  event: 'x-event-key',
  deliveryIds: ['x-request-uuid'],
  signature: { header: 'x-hub-signature', scheme: 'hmac', prefix: 'sha256=' },
  readDeliveries: readBitbucketDeliveries,
};

const states: Readonly<Record<CommitStatus['state'], string>> = {
  pending: 'INPROGRESS',
  success: 'SUCCESSFUL',
  failure: 'FAILED',
  error: 'STOPPED',
};

function workspaceOf(url: string): string {
  return encodeURIComponent(new URL(url).pathname.slice(1));
}

function openBitbucket({ ask, token, url }: OpenedWith): TokenAccess {
  const workspace = workspaceOf(url);
  const at = ({ id }: RepositoryRef): string => `/repositories/${workspace}/${encodeURIComponent(`{${id}}`)}`;
  const values = async (path: string): Promise<Answer[]> =>
    answerList(answerFields(await ask({ path: `${path}?pagelen=${PAGE_SIZE}` }))['values']);

  async function findWebhook(repository: RepositoryRef, target: string): Promise<Answer | null> {
    return (await values(`${at(repository)}/hooks`)).find((row) => row['url'] === target) ?? null;
  }
  const hookAt = (repository: RepositoryRef, hook: Answer): string =>
    `${at(repository)}/hooks/${encodeURIComponent(answerText(hook, 'uuid'))}`;

  return {
    async readAccount() {
      try {
        await ask({ path: `/repositories/${workspace}?pagelen=1` });
      } catch (error) {
        if (!isFailure(error, 'git_host') || error.status !== 403) throw error;
        return { login: '', expiresAt: null, missing: ['repository'] };
      }
      // Tokens of a workspace belong to no person.
      return { login: decodeURIComponent(workspace), expiresAt: null, missing: [] };
    },
    async listRepositories({ search, page }) {
      const word = search.replace(/["\\]/g, '');
      const query = new URLSearchParams({ pagelen: String(PAGE_SIZE), page: String(page) });
      if (word !== '') query.set('q', `full_name ~ "${word}"`);
      const answer = answerFields(await ask({ path: `/repositories/${workspace}?${query}` }));
      const repositories = answerList(answer['values']).map(toRepository);
      return { repositories, hasMore: typeof answer['next'] === 'string' };
    },
    async readRepository(repository) {
      const row = await orNull(ask({ path: at(repository) }));
      return row === null ? null : toRepository(answerFields(row));
    },
    async readHead(repository, branch) {
      const row = await orNull(ask({ path: `${at(repository)}/refs/branches/${encodeURIComponent(branch)}` }));
      return row === null ? null : answerText(answerFields(answerFields(row)['target']), 'hash');
    },
    cloneCredential: async () => ({ username: 'x-token-auth', password: await token() }),
    async setStatus(repository, commit, { state, description, context, targetUrl }) {
      // Bitbucket allows at most 40 characters in the key of a status.
      const key = createHash('sha1').update(context).digest('hex');
      await ask({
        method: 'POST',
        path: `${at(repository)}/commit/${commit}/statuses/build`,
        body: { key, state: states[state], name: context, description, url: targetUrl },
        repeatable: true,
      });
    },
    writeComment(repository, number, { id, mark, body }) {
      const comments = `${at(repository)}/pullrequests/${number}/comments`;
      const content = { raw: hidden(body) };
      return keepComment(id, {
        async find() {
          const found = (await values(comments)).find((row) =>
            String(answerFields(row['content'] ?? {})['raw']).startsWith(hidden(mark).trimEnd()),
          );
          return found === undefined ? null : (found['id'] as number);
        },
        edit: (known) => ask({ method: 'PUT', path: `${comments}/${known}`, body: { content }, repeatable: true }),
        create: () => ask({ method: 'POST', path: comments, body: { content } }),
      });
    },
    async ensureWebhook(repository, { url: target, secret }, rewrite) {
      const hooks = `${at(repository)}/hooks`;
      const body = { description: 'Deployments', url: target, active: true, secret, events };
      const found = await findWebhook(repository, target);
      if (found === null) {
        await ask({ method: 'POST', path: hooks, body });
        return 'created';
      }
      const named = Array.isArray(found['events']) ? (found['events'] as unknown[]) : [];
      const isRight = found['active'] === true && events.every((event) => named.includes(event));
      if (isRight && !rewrite) return 'kept';
      await ask({ method: 'PUT', path: hookAt(repository, found), body, repeatable: true });
      return isRight ? 'kept' : 'updated';
    },
    async removeWebhook(repository, target) {
      const found = await findWebhook(repository, target);
      if (found !== null) await orNull(ask({ method: 'DELETE', path: hookAt(repository, found) }));
    },
  };
}

/** Bitbucket shows comments of HTML, but not the definitions of links. */
function hidden(text: string): string {
  return text.replace(/^<!-- (.*) -->/, '[//]: # ($1)\n');
}

function toRepository(row: Answer): HostRepository {
  return {
    id: answerText(row, 'uuid').replace(/^\{|\}$/g, ''),
    fullName: answerText(row, 'full_name'),
    defaultBranch: answerText(answerFields(row['mainbranch'] ?? {}), 'name', 'main'),
    isPrivate: row['is_private'] !== false,
    isArchived: false,
    // Unknown. A missing permission to create the webhook is detected when the repository is connected.
    mayPush: true,
  };
}
