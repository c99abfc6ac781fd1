// The driver of GitLab: an access token or an OAuth application, and a webhook for each project.
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
import { readGitlabDeliveries } from './gitlab-delivery.ts';

const PAGE_SIZE = 100;
const SCOPE = 'api';
/** GitLab's number for the role Developer, the first that may push. */
const DEVELOPER = 30;
const webhookEvents = { push_events: true, merge_requests_events: true, tag_push_events: false };

export const gitlab: TokenHostKind = {
  title: 'GitLab',
  publicUrl: 'https://gitlab.com',
  urlAdvice: 'pass the URL of your own host, or none for gitlab.com',
  apiUrlOf: (url) => `${url}/api/v4`,
  probe: () => '/version',
  repositoriesAt: (url) => url,
  tokenAdvice: 'a group, project or personal access token with the scope api and the role Maintainer',
  authorization: (token) => ({ authorization: `Bearer ${token}` }),
  open: openGitlab,
  oauth: {
    baseUrl: (url) => url,
    authorizePath: '/oauth/authorize',
    tokenPath: '/oauth/token',
    revokePath: '/oauth/revoke',
    scopes: SCOPE,
    clientAuth: 'body',
    advice:
      'in GitLab, under Applications of a group, of your account or of the Admin area: confidential, with the scope api',
  },
  event: 'x-gitlab-event',
  // The first header stays the same when GitLab sends a delivery again.
  deliveryIds: ['idempotency-key', 'x-gitlab-event-uuid'],
  signature: { header: 'x-gitlab-token', scheme: 'token', prefix: '' },
  readDeliveries: readGitlabDeliveries,
};

const states: Readonly<Record<CommitStatus['state'], string>> = {
  pending: 'pending',
  success: 'success',
  failure: 'failed',
  error: 'canceled',
};

function openGitlab({ ask, token, isGrant }: OpenedWith): TokenAccess {
  const at = ({ id }: RepositoryRef): string => `/projects/${encodeURIComponent(id)}`;

  async function findWebhook(repository: RepositoryRef, url: string): Promise<Answer | null> {
    const rows = answerList(await ask({ path: `${at(repository)}/hooks?per_page=${PAGE_SIZE}` }));
    return rows.find((row) => row['url'] === url) ?? null;
  }
  const removeById = (repository: RepositoryRef, id: string): Promise<unknown> =>
    orNull(ask({ method: 'DELETE', path: `${at(repository)}/hooks/${id}` }));

  return {
    async readAccount() {
      // The application requested the scope, so it need not be checked.
      if (isGrant)
        return {
          login: answerText(answerFields(await ask({ path: '/user' })), 'username'),
          expiresAt: null,
          missing: [],
        };
      let described: Answer;
      try {
        described = answerFields(await ask({ path: '/personal_access_tokens/self' }));
      } catch (error) {
        if (!isFailure(error, 'git_host') || error.status !== 403) throw error;
        return { login: '', expiresAt: null, missing: [SCOPE] };
      }
      const scopes = described['scopes'];
      if (!Array.isArray(scopes) || !scopes.includes(SCOPE)) return { login: '', expiresAt: null, missing: [SCOPE] };
      const expires = Date.parse(String(described['expires_at']));
      const user = answerFields(await ask({ path: '/user' }));
      return {
        login: answerText(user, 'username'),
        expiresAt: Number.isNaN(expires) ? null : new Date(expires),
        missing: [],
      };
    },
    async listRepositories({ search, page }) {
      const query = new URLSearchParams({
        membership: 'true',
        min_access_level: String(DEVELOPER),
        search_namespaces: 'true',
        search,
        per_page: String(PAGE_SIZE),
        page: String(page),
      });
      const rows = answerList(await ask({ path: `/projects?${query}` }));
      return { repositories: rows.map(toRepository), hasMore: rows.length === PAGE_SIZE };
    },
    async readRepository(repository) {
      const row = await orNull(ask({ path: at(repository) }));
      return row === null ? null : toRepository(answerFields(row));
    },
    async readHead(repository, branch) {
      const path = `${at(repository)}/repository/branches/${encodeURIComponent(branch)}`;
      const row = await orNull(ask({ path }));
      return row === null ? null : answerText(answerFields(answerFields(row)['commit']), 'id');
    },
    cloneCredential: async () => ({ username: 'oauth2', password: await token() }),
    async setStatus(repository, commit, { state, description, context, targetUrl }) {
      try {
        await ask({
          method: 'POST',
          path: `${at(repository)}/statuses/${commit}`,
          body: { state: states[state], name: context, description, target_url: targetUrl },
          repeatable: true,
        });
      } catch (error) {
        // GitLab refuses a state that the commit already has, even with another description.
        const isSame = isFailure(error, 'git_host') && error.status === 400 && /Cannot transition/.test(error.message);
        if (!isSame) throw error;
      }
    },
    writeComment(repository, number, { id, mark, body }) {
      const notes = `${at(repository)}/merge_requests/${number}/notes`;
      return keepComment(id, {
        async find() {
          const { id: own } = answerFields(await ask({ path: '/user' }));
          const rows = answerList(await ask({ path: `${notes}?per_page=${PAGE_SIZE}&sort=asc` }));
          const found = rows.find(
            (row) => String(row['body']).startsWith(mark) && answerFields(row['author'])['id'] === own,
          );
          return found === undefined ? null : (found['id'] as number);
        },
        edit: (known) => ask({ method: 'PUT', path: `${notes}/${known}`, body: { body }, repeatable: true }),
        create: () => ask({ method: 'POST', path: notes, body: { body } }),
      });
    },
    async ensureWebhook(repository, { url, secret }, rewrite) {
      const hooks = `${at(repository)}/hooks`;
      const body = { url, token: secret, ...webhookEvents, enable_ssl_verification: url.startsWith('https:') };
      const found = await findWebhook(repository, url);
      // GitLab disables webhooks that failed too often; only a new webhook is certain to be called.
      const status = found?.['alert_status'] ?? 'executable';
      const isRight = found?.['push_events'] === true && found['merge_requests_events'] === true;
      if (found !== null && status !== 'executable') await removeById(repository, answerText(found, 'id'));
      if (found === null || status !== 'executable') {
        await ask({ method: 'POST', path: hooks, body });
        return found === null ? 'created' : 'updated';
      }
      if (isRight && !rewrite) return 'kept';
      await ask({ method: 'PUT', path: `${hooks}/${answerText(found, 'id')}`, body, repeatable: true });
      return isRight ? 'kept' : 'updated';
    },
    async removeWebhook(repository, url) {
      const found = await findWebhook(repository, url);
      if (found !== null) await removeById(repository, answerText(found, 'id'));
    },
  };
}

function toRepository(row: Answer): HostRepository {
  const rights = answerFields(row['permissions'] ?? {});
  const level = (name: string): number => Number(answerFields(rights[name] ?? {})['access_level'] ?? 0);
  return {
    id: answerText(row, 'id'),
    fullName: answerText(row, 'path_with_namespace'),
    defaultBranch: answerText(row, 'default_branch', 'main'),
    isPrivate: row['visibility'] !== 'public',
    isArchived: row['archived'] === true,
    mayPush: Math.max(level('project_access'), level('group_access')) >= DEVELOPER,
  };
}
