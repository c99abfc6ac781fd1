// The driver of Gitea and Forgejo, which have the same API: an access token or an OAuth application, and a webhook for
// each repository.
import { isFailure } from '#core/failure.ts';
import {
  orNull,
  pathOf,
  type OpenedWith,
  type RepositoryRef,
  type TokenAccess,
  type TokenHostKind,
} from '../access.ts';
import { answerFields, answerList, answerText } from '../answers.ts';
import { toRepository } from '../repositories.ts';
import { readGiteaDeliveries } from './gitea-delivery.ts';
import { writeIssueComment } from './issue-comments.ts';

const PAGE_SIZE = 50;
const events = ['push', 'delete', 'pull_request', 'pull_request_sync'];

export const gitea: TokenHostKind = {
  title: 'Gitea',
  publicUrl: null,
  urlAdvice: 'it is self-hosted: pass its URL',
  apiUrlOf: (url) => `${url}/api/v1`,
  probe: () => '/version',
  repositoriesAt: (url) => url,
  tokenAdvice: 'an access token with the scopes read:user, write:repository and write:issue',
  authorization: (token) => ({ authorization: `token ${token}` }),
  open: openGitea,
  oauth: {
    baseUrl: (url) => url,
    authorizePath: '/login/oauth/authorize',
    tokenPath: '/login/oauth/access_token',
    revokePath: null,
    scopes: 'read:user write:repository write:issue',
    clientAuth: 'body',
    advice:
      'on the host, under Settings, Applications, or in the site administration under Integrations: a confidential client',
  },
  event: 'x-gitea-event',
  deliveryIds: ['x-gitea-delivery'],
  signature: { header: 'x-gitea-signature', scheme: 'hmac', prefix: '' },
  readDeliveries: readGiteaDeliveries,
};

export const forgejo: TokenHostKind = { ...gitea, title: 'Forgejo' };

function openGitea({ ask, token }: OpenedWith): TokenAccess {
  const at = ({ fullName }: RepositoryRef): string => `/repos/${pathOf(fullName)}`;
  let known: Promise<{ id: string; login: string }> | null = null;
  const readUser = async (): Promise<{ id: string; login: string }> => {
    const user = answerFields(await ask({ path: '/user' }));
    return { id: answerText(user, 'id'), login: answerText(user, 'login') };
  };
  const userOnce = (): Promise<{ id: string; login: string }> => (known ??= readUser());

  async function findWebhook(repository: RepositoryRef, url: string) {
    const rows = answerList(await ask({ path: `${at(repository)}/hooks?limit=${PAGE_SIZE}` }));
    return rows.find((row) => answerFields(row['config'] ?? {})['url'] === url) ?? null;
  }

  return {
    async readAccount() {
      const user = await unlessScope(userOnce());
      const listed = await unlessScope(ask({ path: '/user/repos?limit=1' }));
      const missing = [...(user === null ? ['read:user'] : []), ...(listed === null ? ['write:repository'] : [])];
      return { login: user?.login ?? '', expiresAt: null, missing };
    },
    async listRepositories({ search, page }) {
      const { id } = await userOnce();
      const query = new URLSearchParams({ uid: id, q: search, limit: String(PAGE_SIZE), page: String(page) });
      const rows = answerList(answerFields(await ask({ path: `/repos/search?${query}` }))['data']);
      return { repositories: rows.map(toRepository), hasMore: rows.length === PAGE_SIZE };
    },
    async readRepository({ id }) {
      const row = await orNull(ask({ path: `/repositories/${encodeURIComponent(id)}` }));
      return row === null ? null : toRepository(answerFields(row));
    },
    async readHead(repository, branch) {
      const row = await orNull(ask({ path: `${at(repository)}/branches/${pathOf(branch)}` }));
      return row === null ? null : answerText(answerFields(answerFields(row)['commit']), 'id');
    },
    cloneCredential: async () => ({ username: 'x-access-token', password: await token() }),
    async setStatus(repository, commit, { targetUrl, ...status }) {
      await ask({
        method: 'POST',
        path: `${at(repository)}/statuses/${commit}`,
        body: { ...status, target_url: targetUrl },
        repeatable: true,
      });
    },
    async writeComment(repository, number, comment) {
      const isOurs = async (user: object): Promise<boolean> =>
        (user as { login?: unknown }).login === (await userOnce()).login;
      return writeIssueComment(ask, at(repository), number, comment, isOurs);
    },
    async ensureWebhook(repository, { url, secret }, rewrite) {
      const hooks = `${at(repository)}/hooks`;
      const body = { active: true, events, config: { url, secret, content_type: 'json' } };
      const found = await findWebhook(repository, url);
      if (found === null) {
        await ask({ method: 'POST', path: hooks, body: { ...body, type: 'gitea' } });
        return 'created';
      }
      const named = Array.isArray(found['events']) ? (found['events'] as unknown[]) : [];
      const isRight =
        found['active'] === true &&
        events.every((event) => named.includes(event)) &&
        answerFields(found['config'])['content_type'] === 'json';
      if (isRight && !rewrite) return 'kept';
      await ask({ method: 'PATCH', path: `${hooks}/${answerText(found, 'id')}`, body, repeatable: true });
      return isRight ? 'kept' : 'updated';
    },
    async removeWebhook(repository, url) {
      const found = await findWebhook(repository, url);
      if (found !== null)
        await orNull(ask({ method: 'DELETE', path: `${at(repository)}/hooks/${answerText(found, 'id')}` }));
    },
  };
}

/** Null where the token lacks the scope for a request. */
async function unlessScope<Result>(asked: Promise<Result>): Promise<Result | null> {
  try {
    return await asked;
  } catch (error) {
    if (isFailure(error, 'git_host') && error.status === 403 && /scope/i.test(error.message)) return null;
    throw error;
  }
}
